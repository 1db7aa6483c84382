// Resnet18 trains ResNet-18 on the real images of CIFAR-10, on a card or a CPU, in mixed
// precision or not, and says how well it does.
//
//	go run ./examples/resnet18 -amp
//
// The flags are those of PyTorch's ImageNet example; -h lists them. The files are divided by
// subject: flags.go reads the command line, images.go brings the data, train.go and eval.go
// have the two loops, pass.go their meters, checkpoint.go writes and reads the state of a run,
// report.go says what it is and what came of it.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

func main() { cli.Main("resnet18", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	c, err := parseFlags(args, out)
	if err != nil {
		return err
	}
	if err := setUp(c); err != nil {
		return err
	}
	if err := errors.Join(checkResume(c.resume), checkSave(c.save)); err != nil {
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

func execute(ctx context.Context, c *config, sets *imageSets, out io.Writer) error {
	t, err := newTrainer(c, sets, out)
	if err != nil {
		return err
	}
	defer t.Close()
	t.header()
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
	if c.device, err = cli.OpenDevice(c.device); err != nil {
		return err
	}
	if err := train.CheckGraph(c.graph, c.device); err != nil {
		return err
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
