// Linear fits a plane to noisy points: the smallest training loop there is.
//
//	go run ./examples/linear
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

func main() { cli.Main("linear", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	f := train.NewFlags("linear", "linear fits y = 2a - 3b + 1 to noisy points.", train.Defaults{Epochs: 5, Batch: 32, LR: 0.05})
	points := f.Int("n", 1000, "points")
	noise := f.Float64("noise", 0.1, "standard deviation of what is added to each y")
	if err := f.Parse(args, out); err != nil {
		return err
	}
	if err := cli.Positive("n", float64(*points)); err != nil {
		return err
	}
	if err := cli.NotNegative("noise", *noise); err != nil {
		return err
	}
	return f.Run(func() error { return fit(ctx, f, *points, *noise) })
}

func fit(ctx context.Context, f *train.Flags, points int, noise float64) error {
	there := torch.TensorOptions{Device: f.Device}
	x := there.RandN(points, 2)
	plane := torch.FromSlice([]float32{2, -3}, 2, 1).To(f.Device)
	y := x.MatMul(plane).AddScalar(1).Add(there.RandN(points, 1).MulScalar(noise))
	loader, err := data.NewLoader(data.NewTensorDataset(x, y), data.LoaderOptions{BatchSize: f.Batch, Shuffle: true, Seed: f.Seed})
	if err != nil {
		return err
	}

	model := nn.NewLinear(2, 1)
	defer nn.Close(model)
	nn.To(model, f.Device)
	opt := optim.NewSGD(nn.Parameters(model), f.LR)
	defer opt.Close()
	err = f.Loop(ctx, loader, func(b data.Batch) torch.Tensor {
		loss := F.MSELoss(model.Forward(b.Input), b.Target)
		loss.Backward()
		opt.Step()
		opt.ZeroGrad()
		return loss
	}, nil)
	if err != nil {
		return err
	}
	w := torch.Values[float64](model.Weight)
	f.Printf("done: y = %.3f a %+.3f b %+.3f", w[0], w[1], model.Bias.Float64())
	return nil
}
