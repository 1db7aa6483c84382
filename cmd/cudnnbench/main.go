// Cudnnbench measures how much the switches gain: cuDNN's benchmark mode, TF32, mixed
// precision, channels_last and graphs on a card; threads, oneDNN's precisions and the like on
// a CPU.
//
//	go run ./cmd/cudnnbench -model resnet50 -b 32
//
// -h lists the flags. The files are divided by subject: flags.go reads the command line,
// axes.go has the switches and their combinations, shape.go convolutions; serve.go, workload.go
// and rig.go are the process that computes, measure.go the one that asks it; stats.go and
// advice.go draw conclusions, which table.go, result.go and chart.go show.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/libtorch-go/libtorch/internal/cli"
)

func main() { cli.Main("cudnnbench", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	if slices.Equal(args, []string{serveFlag}) {
		return serve(os.Stdin, out)
	}
	c, err := parseFlags(args, out)
	if err != nil {
		return err
	}
	if err := c.settle(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sides := &crew{device: c.device.String(), self: []string{self, serveFlag}}
	err = bench(ctx, c, sides, args, out)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Canceled) {
		err = cli.Interruptedf("interrupted: %v", err) // a terminal sends its signals to all processes
	}
	return errors.Join(err, sides.close())
}

// bench measures all workloads. What is done is written after each.
func bench(ctx context.Context, c *config, sides *crew, args []string, out io.Writer) error {
	settings, leftOut := combine(c.choices)
	tasks, err := sides.tasks(c.works(), settings, c.byShape)
	if err != nil {
		return err
	}
	r, err := newResult(c, args, leftOut)
	if err != nil {
		return err
	}
	r.header(out, len(tasks), len(settings), c.plan)
	for i, t := range tasks {
		bar := newBar(out, i, len(tasks), t, c.plan)
		err := sides.measure(ctx, t, c.plan, bar)
		bar.Close()
		if r.add(t); len(r.Tasks) == 0 && errors.Is(err, context.Canceled) {
			return cli.Interruptedf("interrupted before anything was measured")
		}
		r.Complete = err == nil && i == len(tasks)-1
		if err == nil || errors.Is(err, context.Canceled) {
			r.show(out, t, i == len(tasks)-1 || tasks[i+1].Of != t.Of || err != nil)
		}
		if failed := r.write(c); failed != nil {
			return errors.Join(err, failed)
		}
		switch {
		case errors.Is(err, context.Canceled):
			return cli.Interruptedf("interrupted in workload %d of %d, after %d of %d rounds; what was measured is above%s",
				i+1, len(tasks), t.Rounds, c.plan.rounds, r.kept(c))
		case err != nil:
			return err
		}
	}
	r.closing(out, c)
	return r.failed()
}

// kept says where an incomplete result is.
func (r *result) kept(c *config) string {
	files := c.files()
	if files == "" {
		return ""
	}
	return fmt.Sprintf(" and, marked as incomplete, in %s", files)
}
