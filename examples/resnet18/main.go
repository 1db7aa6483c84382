// Resnet18 trains ResNet-18 on the real images of CIFAR-10, on a card or a CPU, in mixed
// precision or not, and says how well it does.
//
//	go run ./examples/resnet18 -amp
//
// The flags are those of PyTorch's ImageNet example; -h lists them. Begin with train.go: it has
// the loop, from batch to meter. trainer.go makes what it uses, images.go brings the data,
// checkpoint.go writes and reads the state of a run, dist.go is what -dist adds, meters.go and
// report.go say how it goes, flags.go and cli.go read the command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// A signal (SIGINT, SIGTERM) ends the run cleanly, a second one at once.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := command(ctx, os.Args[1:], os.Stdout)
	code := exitCode(err)
	if code != 0 {
		fmt.Fprintf(os.Stderr, "resnet18: %v\n", err)
	}
	os.Exit(code)
}

func command(ctx context.Context, args []string, out io.Writer) error {
	c, err := parseFlags(args, out)
	if err != nil {
		return err
	}
	if err := setUp(c); err != nil {
		return err
	}
	if err := c.join(ctx); err != nil {
		return err
	}
	if c.group != nil {
		defer c.group.Close()
	}
	if !c.leads() {
		out = io.Discard
	}
	if err := checkpoint.Preflight(c.resume, c.save); err != nil {
		return err
	}
	sets, err := openImages(ctx, c, out)
	if err != nil {
		return err
	}
	defer sets.Close()
	broken := torch.Try(func() { err = execute(ctx, c, sets, out) })
	return errors.Join(broken, err)
}

func execute(ctx context.Context, c *config, sets *imageSets, out io.Writer) (err error) {
	t, err := newTrainer(c, sets, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	t.header()
	if t.log != nil {
		if err := t.drawGraph(); err != nil {
			t.printf("note: TensorBoard gets no graph: %v", err) // training goes on
		}
	}
	return t.run(ctx)
}

// setUp opens libtorch and sets its switches as the flags say.
func setUp(c *config) error {
	if c.deterministic {
		// cuBLAS reads it when it is loaded; PyTorch's documentation asks for it.
		if err := os.Setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8"); err != nil {
			return err
		}
	}
	var err error
	if c.device, err = openDevice(c.device); err != nil {
		return err
	}
	if c.dist {
		if c.device, err = c.card(); err != nil {
			return err
		}
	}
	if c.Graph && !c.device.IsCUDA() {
		return usagef("-graph needs a CUDA device, this run is on the %v", c.device)
	}
	c.settle()
	if c.threads > 0 {
		torch.SetNumThreads(c.threads)
	}
	settings := cuda.Settings{Benchmark: toggle(c.benchmark), Deterministic: toggle(c.deterministic)}
	if c.deterministic {
		settings.DeterministicAlgorithms = cuda.On
	}
	cuda.Set(settings)
	torch.ManualSeed(c.Seed)
	return nil
}

func toggle(on bool) cuda.Switch {
	if on {
		return cuda.On
	}
	return cuda.Off
}
