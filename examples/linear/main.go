// Linear fits a plane to noisy points: the smallest training loop there is.
//
//	go run ./examples/linear
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

var (
	points = flag.Int("n", 1000, "points")
	noise  = flag.Float64("noise", 0.1, "standard deviation of what is added to each y")
	epochs = flag.Int("epochs", 5, "passes over the points")
	size   = flag.Int("b", 32, "points in a batch")
	rate   = flag.Float64("lr", 0.05, "learning rate")
	seed   = flag.Uint64("seed", 0, "seed of points, weights and order")
)

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	defer torch.Recover(&err) // a mistake in an operation is an error, not a crash
	torch.ManualSeed(*seed)
	dev := torch.DefaultDevice()

	// The points lie around the plane y = 2a - 3b + 1.
	x := torch.RandN(*points, 2)
	y := x.MatMul(torch.FromSlice([]float32{2, -3}, 2, 1)).AddScalar(1)
	y = y.Add(torch.RandN(*points, 1).MulScalar(*noise))
	loader, err := data.NewLoader(data.NewTensorDataset(x.To(dev), y.To(dev)),
		data.LoaderOptions{BatchSize: *size, Shuffle: true, Seed: *seed})
	if err != nil {
		return err
	}

	model := nn.To(nn.NewLinear(2, 1), dev)
	opt := optim.NewSGD(nn.Parameters(model), *rate)
	for epoch := range *epochs {
		var mean meter.Average
		for batch, err := range loader.Epoch(ctx, epoch) { // what is made in the body is freed at its end
			if err != nil {
				return err
			}
			loss := F.MSELoss(model.Forward(batch.Input), batch.Target)
			loss.Backward()
			opt.Step()
			opt.ZeroGrad()
			mean.Add(loss, batch.Len())
		}
		fmt.Fprintf(out, "epoch %d: loss %.6f\n", epoch, mean.Avg())
	}
	w := torch.Values[float64](model.Weight)
	fmt.Fprintf(out, "y = %.3f a %+.3f b %+.3f\n", w[0], w[1], model.Bias.Float64())
	return nil
}
