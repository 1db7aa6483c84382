// Customfunction trains through an operation whose derivative is written in Go: it fits a
// polynomial of Legendre to a sine, as PyTorch's tutorial on autograd functions does.
//
//	go run ./examples/customfunction
package main

import (
	"context"
	"io"
	"math"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// legendre3 is P3(x) = (5x³ - 3x)/2, with its derivative.
type legendre3 struct{}

func (legendre3) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	ctx.SaveForBackward(in[0])
	x := in[0]
	return []torch.Tensor{x.PowScalar(3).MulScalar(5).Sub(x.MulScalar(3)).MulScalar(0.5)}
}

func (legendre3) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	slope := ctx.SavedTensors()[0].Square().MulScalar(5).SubScalar(1).MulScalar(1.5)
	return []torch.Tensor{grads[0].Mul(slope)}
}

// polynomial is a + b*P3(c + d*x).
type polynomial struct{ a, b, c, d torch.Tensor }

func newPolynomial(dev torch.Device) *polynomial {
	number := func(v float64) torch.Tensor {
		return torch.TensorOptions{DType: torch.Float32, Device: dev, RequiresGrad: true}.Full(nil, v)
	}
	return &polynomial{number(0), number(-1), number(0), number(0.3)}
}

func (p *polynomial) parameters() []torch.Tensor { return []torch.Tensor{p.a, p.b, p.c, p.d} }

func (p *polynomial) at(x torch.Tensor) torch.Tensor {
	return p.a.Add(p.b.Mul(torch.Apply1(legendre3{}, p.c.Add(p.d.Mul(x)))))
}

func main() { cli.Main("customfunction", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	f := train.NewFlags("customfunction", "customfunction fits a polynomial of Legendre to a sine.",
		train.Defaults{Epochs: 40, Batch: 50, LR: 0.01, Every: 20})
	if err := f.Parse(args, out); err != nil {
		return err
	}
	return f.Run(func() error { return fit(ctx, f) })
}

func fit(ctx context.Context, f *train.Flags) error {
	x := torch.TensorOptions{DType: torch.Float32, Device: f.Device}.Linspace(-math.Pi, math.Pi, 2000)
	loader, err := data.NewLoader(data.NewTensorDataset(x, x.Sin()), data.LoaderOptions{BatchSize: f.Batch, Shuffle: true, Seed: f.Seed})
	if err != nil {
		return err
	}
	p := newPolynomial(f.Device)
	opt := optim.NewSGD(p.parameters(), f.LR)
	defer opt.Close()
	err = f.Loop(ctx, loader, func(b data.Batch) torch.Tensor {
		loss := F.MSELoss(p.at(b.Input), b.Target)
		loss.Backward()
		opt.Step()
		opt.ZeroGrad()
		return loss
	}, nil)
	if err != nil {
		return err
	}
	f.Printf("done: sin x = %.3f %+.3f P3(%.3f %+.3f x)", p.a.Float64(), p.b.Float64(), p.c.Float64(), p.d.Float64())
	return nil
}
