// Torchrun starts the ranks of a distributed program on this machine, watches them, and starts all of them anew when one fails. It is
// PyTorch's torchrun without Python, with its flags and the environment that it gives to programs, Go's and any other:
//
//	torchrun --standalone --nproc-per-node 4 ./train -epochs 90
//	torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint host:29400 --rdzv-id job --max-restarts 3 ./train
//
// -h lists the flags. flags.go reads the command line, rendezvous.go is how the machines find each other, agent.go runs the
// ranks of this machine round by round, and worker.go is one of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/libtorch-go/libtorch/internal/cli"
)

func main() {
	err := command(context.Background(), os.Args[1:], os.Stdout)
	if code := cli.ExitCode(err); code != 0 {
		fmt.Fprintf(os.Stderr, "torchrun: %v\n", err)
		os.Exit(code)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseFlags(args, out)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, o.signals...)
	defer signal.Stop(signals)
	go func() {
		if s, open := <-signals; open {
			stop(stopped{s})
		}
	}()
	meeting, err := meet(ctx, o)
	if err != nil {
		return err
	}
	defer meeting.close()
	err = (&agent{options: o, meeting: meeting, out: out, errs: os.Stderr}).run(ctx)
	if s := new(stopped); errors.As(err, s) {
		return cli.Interruptedf("stopped by the signal %v", s.signal)
	}
	return err
}

// stopped is the end by a signal.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return "the signal " + s.signal.String() }
