// Accumulate trains with batches that do not fit into memory: it sums up the gradients of
// several small batches and steps as if they were one batch.
//
//	go run ./examples/accumulate -b 16 -accumulate 4
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

var (
	each   = flag.Int("accumulate", 4, "batches for each step")
	points = flag.Int("n", 1000, "points")
	epochs = flag.Int("epochs", 20, "passes over the points")
	size   = flag.Int("b", 16, "points in a batch")
	rate   = flag.Float64("lr", 0.1, "learning rate")
	seed   = flag.Uint64("seed", 0, "seed of points, weights and order")
)

// rings are n points [n, 2] on two rings about each other, with noise, and which ring each is of
// [n]. No straight line separates them.
func rings(n int) (points, labels torch.Tensor) {
	labels = torch.Rand(n).LtScalar(0.5)
	radius := labels.To(torch.Float32).MulScalar(-1).AddScalar(2).Add(torch.RandN(n).MulScalar(0.15))
	angle := torch.Rand(n).MulScalar(2 * math.Pi)
	points = torch.Stack([]torch.Tensor{radius.Mul(angle.Cos()), radius.Mul(angle.Sin())}, 1)
	return points, labels.To(torch.Int64)
}

func main() {
	flag.Parse()
	if *each < 1 {
		log.Fatalf("-accumulate is %d, expected 1 or more", *each)
	}
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	defer torch.Recover(&err)
	torch.ManualSeed(*seed)
	dev := torch.DefaultDevice()
	x, y := rings(*points)
	x, y = x.To(dev), y.To(dev)
	loader, err := data.NewLoader(data.NewTensorDataset(x, y), data.LoaderOptions{BatchSize: *size, Shuffle: true, Seed: *seed})
	if err != nil {
		return err
	}

	model := nn.To(nn.Sequential{nn.NewLinear(2, 32), nn.Tanh{}, nn.NewLinear(32, 2)}, dev)
	opt := optim.NewSGD(nn.Parameters(model), *rate, optim.SGDOptions{Momentum: 0.9})
	steps := 0
	for epoch := range *epochs {
		batches, samples := 0, 0
		for batch, err := range loader.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			// The loss of a large batch is the mean over all its samples, and the last small batch
			// of an epoch may be smaller: so gradients of sums are accumulated, and divided when it
			// is known by how much.
			loss := F.CrossEntropy(model.Forward(batch.Input), batch.Target)
			loss.MulScalar(batch.Len()).Backward() // adds to the gradients that are there
			samples += batch.Len()
			if batches++; batches%*each != 0 && batches != loader.Len() {
				continue
			}
			torch.NoGrad(func() {
				for _, grad := range torch.Grads(nn.Parameters(model)) {
					grad.DivScalarInPlace(samples)
				}
			})
			opt.Step()
			opt.ZeroGrad()
			steps, samples = steps+1, 0
		}
	}
	torch.Inference(func() {
		loss := F.CrossEntropy(model.Forward(x), y).Float64()
		fmt.Fprintf(out, "loss %.6f after %d steps of %d x %d samples\n", loss, steps, *each, *size)
	})
	return nil
}
