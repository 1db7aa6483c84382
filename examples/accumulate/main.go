// Accumulate trains with batches that do not fit into memory: it sums up the gradients of
// several small batches and steps as if they were one batch.
//
//	go run ./examples/accumulate -b 16 -accumulate 4
package main

import (
	"context"
	"io"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

func main() { cli.Main("accumulate", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	f := train.NewFlags("accumulate", "accumulate steps once for several batches.", train.Defaults{Epochs: 20, Batch: 16, LR: 0.1, Every: 64})
	each := f.Int("accumulate", 4, "batches for each step")
	points := f.Int("n", 1000, "points")
	if err := f.Parse(args, out); err != nil {
		return err
	}
	if err := cli.Positive("accumulate", float64(*each)); err != nil {
		return err
	}
	if err := cli.Positive("n", float64(*points)); err != nil {
		return err
	}
	return f.Run(func() error { return learn(ctx, f, *each, *points) })
}

func learn(ctx context.Context, f *train.Flags, each, points int) error {
	x, y := train.Rings(points, 0.5, f.Device)
	loader, err := data.NewLoader(data.NewTensorDataset(x, y), data.LoaderOptions{BatchSize: f.Batch, Shuffle: true, Seed: f.Seed})
	if err != nil {
		return err
	}
	model := nn.Sequential{nn.NewLinear(2, 32), nn.Tanh{}, nn.NewLinear(32, 2)}
	defer nn.Close(model)
	nn.To(model, f.Device)
	opt := optim.NewSGD(nn.Parameters(model), f.LR, optim.SGDOptions{Momentum: 0.9})
	defer opt.Close()

	steps, samples, batches := 0, 0, 0
	err = f.Loop(ctx, loader, func(b data.Batch) torch.Tensor {
		loss := F.CrossEntropy(model.Forward(b.Input), b.Target)
		// The loss is the mean of a batch. That of all samples until the step has each batch
		// weighted by its size, and the last of an epoch may be small: so gradients of sums are
		// accumulated, and divided when it is known by how much.
		loss.MulScalar(b.Len()).Backward()
		samples += b.Len()
		if batches++; batches%each == 0 || batches%loader.Len() == 0 {
			torch.NoGrad(func() {
				for _, grad := range torch.Grads(nn.Parameters(model)) {
					grad.DivScalarInPlace(samples)
				}
			})
			opt.Step()
			opt.ZeroGrad()
			steps, samples = steps+1, 0
		}
		if batches%loader.Len() == 0 {
			batches = 0 // an epoch begins with a new step
		}
		return loss
	}, nil)
	if err != nil {
		return err
	}
	f.Printf("done: loss %.6f after %d steps of %d x %d samples", train.Loss(model, x, y), steps, each, f.Batch)
	return nil
}
