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
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/data"
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
	training, err := open(ctx, out, dev, true)
	if err != nil {
		return err
	}
	test, err := open(ctx, out, dev, false)
	if err != nil {
		return err
	}

	padded := nn.ConvOptions{Padding: 1}
	model := nn.To(nn.Sequential{
		nn.NewConv2d(1, 32, 3, padded), nn.ReLU{}, nn.NewMaxPool2d(2),
		nn.NewConv2d(32, 64, 3, padded), nn.ReLU{}, nn.NewMaxPool2d(2),
		nn.Flatten{}, nn.NewLinear(64*7*7, 128), nn.ReLU{}, nn.NewDropout(0.5), nn.NewLinear(128, 10),
	}, dev)
	opt := optim.NewAdam(nn.Parameters(model), *rate)
	step := cuda.Graphed(func(in []torch.Tensor) []torch.Tensor {
		loss := F.CrossEntropy(model.Forward(normalise(in[0], dev)), in[1].To(dev, torch.NonBlocking))
		loss.Backward()
		opt.Step()
		opt.ZeroGrad()
		return []torch.Tensor{loss}
	}, cuda.GraphedOptions{Disabled: !*graph})
	defer step.Close()

	for epoch := range *epochs {
		nn.Train(model)
		loss := &meter.Average{Name: "Loss"}
		progress := meter.NewProgress(out, fmt.Sprintf("Epoch: [%d]", epoch), training.Len(), loss)
		progress.Every = *every
		for batch, err := range training.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			results, err := step.Run(batch.Input, batch.Target)
			if err != nil {
				return err
			}
			loss.Add(results[0], batch.Len())
			progress.Step(batch.Len())
		}
		progress.Close()

		right, err := accuracy(ctx, model, test, dev)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, " * Acc@1 %.3f\n", 100*right)
	}
	return nil
}

// accuracy is the part of the test images that the model reads right.
func accuracy(ctx context.Context, model nn.Layer, test *data.Loader[data.Batch], dev torch.Device) (_ float64, err error) {
	nn.Eval(model)
	var right meter.Average
	torch.Inference(func() {
		for batch, failed := range test.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			hits := model.Forward(normalise(batch.Input, dev)).ArgMaxDim(1).Eq(batch.Target.To(dev))
			right.Add(hits.To(torch.Float32).Mean(), batch.Len())
		}
	})
	return right.Avg(), err
}
