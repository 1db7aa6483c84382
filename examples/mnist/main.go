// Mnist trains a small convolutional network to read handwritten digits.
//
//	go run ./examples/mnist
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

var (
	root    = flag.String("data", "", "folder with mnist in it (default a `folder` in the user's cache)")
	drawn   = flag.Bool("drawn", false, "digits that the program draws itself, instead of MNIST")
	limit   = flag.Int("limit", 0, "images to train on, and a fifth as many to test with; 0 is all")
	epochs  = flag.Int("epochs", 1, "passes over the images")
	size    = flag.Int("b", 64, "images in a batch")
	rate    = flag.Float64("lr", 1e-3, "learning rate")
	seed    = flag.Uint64("seed", 0, "seed of weights, order and dropout")
	workers = flag.Int("j", 1, "workers that prepare batches; 0 is none")
	every   = flag.Int("p", 100, "print every `N`-th batch")
	device  = flag.String("device", "", "cpu, cuda or cuda:`N` (default cuda where there is a card)")
	folder  = flag.String("checkpoint", "", "`folder` in which the training is kept, and from which it goes on")
	graph   = flag.Bool("graph", false, "record the training step as a CUDA graph and replay it")
)

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	defer torch.Recover(&err)
	torch.ManualSeed(*seed)
	dev, err := torch.ParseDevice(cmp.Or(*device, torch.DefaultDevice().String()))
	if err != nil {
		return err
	}
	training, test, err := open(ctx, out, dev)
	if err != nil {
		return err
	}
	model := nn.To(newModel(), dev)
	opt := optim.NewAdam(nn.Parameters(model), *rate)
	step := cuda.Graphed(func(in []torch.Tensor) []torch.Tensor {
		loss := F.CrossEntropy(model.Forward(normalise(in[0], dev)), in[1].To(dev, torch.NonBlocking))
		loss.Backward()
		opt.Step()
		opt.ZeroGrad()
		return []torch.Tensor{loss}
	}, cuda.GraphedOptions{Disabled: !*graph})
	defer step.Close()

	term, stop := checkpoint.OnTerm(ctx)
	defer stop()
	kept, at, err := resume(checkpoint.Parts{"model": model, "optimizer": opt})
	if err != nil {
		return err
	}
	for ; at.Epoch < *epochs; at.Epoch, at.Batch = at.Epoch+1, 0 {
		nn.Train(model)
		loss := &meter.Average{Name: "Loss"}
		progress := meter.NewProgress(out, fmt.Sprintf("Epoch: [%d]", at.Epoch), training.Len(), loss)
		progress.Every = *every
		for batch, err := range training.EpochFrom(ctx, at.Epoch, at.Batch) {
			if err != nil {
				return err
			}
			results, err := step.Run(batch.Input, batch.Target)
			if err != nil {
				return err
			}
			loss.Add(results[0], batch.Len())
			progress.Step(batch.Len())
			at.Batch, at.Step = at.Batch+1, at.Step+1
			if stop, err := kept.Step(term, at); stop || err != nil {
				return err
			}
		}
		progress.Close()

		right, err := accuracy(ctx, model, test, dev)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, " * Acc@1 %.3f\n", 100*right)
	}
	return kept.Save(at)
}

// resume opens the folder in which the training is kept, and goes on from what is there.
func resume(parts checkpoint.Parts) (*checkpoint.Run, checkpoint.Point, error) {
	kept, err := checkpoint.Open(*folder, parts, checkpoint.Options{Every: 500, Recipe: []any{*limit, *size, *rate, *seed}})
	if err != nil {
		return nil, checkpoint.Point{}, err
	}
	at, err := kept.Resume(nil)
	return kept, at, err
}
