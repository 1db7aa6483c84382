// Imagenet trains any of torchvision's 80 classifiers on a folder of photographs, as PyTorch's reference trainers do.
//
//	go run ./examples/imagenet -data imagenette2-320 -arch resnet50
//
// The flags are those of PyTorch's ImageNet example and of torchvision's reference for classification; -h lists them. Begin
// with train.go: it has the loop. trainer.go makes what it uses, images.go brings the photographs, report.go says how it goes, and
// dist.go lets several processes train together.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// errInterrupted ends a run that was asked to end.
var errInterrupted = errors.New("interrupted")

// An interrupt or SIGTERM ends the run after the batch at hand, with a checkpoint where -output-dir says.
func main() {
	term, stop := checkpoint.OnTerm(context.Background())
	err := command(term, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(os.Stderr, "imagenet:", err)
		os.Exit(130) // as shells have it
	}
	fmt.Fprintln(os.Stderr, "imagenet:", err)
	os.Exit(1)
}

// command is the program. It ends early, and cleanly, when term ends.
func command(term context.Context, args []string, out io.Writer) (err error) {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	if err := torch.Load(); err != nil {
		return err
	}
	defer torch.Recover(&err)
	if err := c.settle(); err != nil {
		return err
	}
	if err := c.join(term); err != nil {
		return err
	}
	if c.group != nil {
		defer c.group.Close()
	}
	if !c.leads() {
		out = io.Discard
	}
	images, err := openImages(c)
	if err != nil {
		return err
	}
	t, err := newTrainer(term, c, images, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	t.header()
	if c.evaluate {
		return t.judge(term)
	}
	return t.learn(term)
}

// settle fills in what depends on the device, and sets libtorch's switches.
func (c *config) settle() (err error) {
	c.dev = torch.DefaultDevice()
	if c.device != "" {
		if c.dev, err = torch.ParseDevice(c.device); err != nil {
			return err
		}
	}
	if err := torch.CheckDevice(c.dev); err != nil {
		return err
	}
	switch {
	case !c.AMP:
		c.dtype = torch.Float32
	case c.dev.IsCUDA():
		c.dtype = torch.Float16
	default:
		c.dtype = torch.BFloat16
	}
	if c.threads > 0 {
		torch.SetNumThreads(c.threads)
	}
	settings := cuda.Settings{Benchmark: cuda.On}
	if c.deterministic {
		settings = cuda.Settings{Benchmark: cuda.Off, Deterministic: cuda.On, DeterministicAlgorithms: cuda.On}
	}
	cuda.Set(settings)
	torch.ManualSeed(c.Seed)
	return nil
}
