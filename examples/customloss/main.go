// Customloss trains with a loss of its own: the focal loss, for classes of which one is rare.
//
//	go run ./examples/customloss
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
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

var (
	gamma  = flag.Float64("gamma", 2, "how far to look away from what is right already; 0 is cross entropy")
	rare   = flag.Float64("rare", 0.05, "part of the points that are of the rare class")
	points = flag.Int("n", 2000, "points")
	epochs = flag.Int("epochs", 10, "passes over the points")
	size   = flag.Int("b", 32, "points in a batch")
	rate   = flag.Float64("lr", 0.01, "learning rate")
	seed   = flag.Uint64("seed", 0, "seed of points, weights and order")
)

// FocalLoss is cross entropy that looks away from samples that are right already: the mean of
// (1-p)^gamma * -log(p), p being the probability of the target [N] among the scores
// [N, classes] (Lin et al., "Focal Loss for Dense Object Detection", 2017). A loss is a
// function of tensors like any other; its gradient follows from what it calls.
func FocalLoss(scores, target torch.Tensor, gamma float64) torch.Tensor {
	logP := scores.LogSoftmax(1).Gather(1, target.Unsqueeze(1)).Squeeze()
	return logP.Exp().Neg().AddScalar(1).PowScalar(gamma).Mul(logP).Neg().Mean()
}

// rings are n points [n, 2] on two rings about each other, with noise, and which ring each is of
// [n]: 1, the inner one, for about that part of them. No straight line separates them.
func rings(n int, inner float64) (points, labels torch.Tensor) {
	labels = torch.Rand(n).LtScalar(inner)
	radius := labels.To(torch.Float32).MulScalar(-1).AddScalar(2).Add(torch.RandN(n).MulScalar(0.15))
	angle := torch.Rand(n).MulScalar(2 * math.Pi)
	points = torch.Stack([]torch.Tensor{radius.Mul(angle.Cos()), radius.Mul(angle.Sin())}, 1)
	return points, labels.To(torch.Int64)
}

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	defer torch.Recover(&err)
	torch.ManualSeed(*seed)
	dev := torch.DefaultDevice()
	x, y := rings(*points, *rare)
	x, y = x.To(dev), y.To(dev)
	loader, err := data.NewLoader(data.NewTensorDataset(x, y), data.LoaderOptions{BatchSize: *size, Shuffle: true, Seed: *seed})
	if err != nil {
		return err
	}

	model := nn.To(nn.Sequential{nn.NewLinear(2, 32), nn.ReLU{}, nn.NewLinear(32, 2)}, dev)
	opt := optim.NewAdamW(nn.Parameters(model), *rate)
	for epoch := range *epochs {
		var mean meter.Average
		for batch, err := range loader.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			loss := FocalLoss(model.Forward(batch.Input), batch.Target, *gamma)
			loss.Backward()
			opt.Step()
			opt.ZeroGrad()
			mean.Add(loss, batch.Len())
		}
		fmt.Fprintf(out, "epoch %d: loss %.6f\n", epoch, mean.Avg())
	}
	torch.Inference(func() {
		scores := model.Forward(x)
		found := scores.ArgMaxDim(1).Mul(y).Sum().Int()
		fmt.Fprintf(out, "%d of %d rare points found, cross entropy %.4f\n", found, y.Sum().Int(), F.CrossEntropy(scores, y).Float64())
	})
	return nil
}
