// Customfunction trains through an operation whose derivative is written in Go: it fits a
// polynomial of Legendre to a sine, as PyTorch's tutorial on autograd functions does.
//
//	go run ./examples/customfunction
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

var (
	steps = flag.Int("steps", 2000, "steps, each over all points")
	rate  = flag.Float64("lr", 5e-6, "learning rate")
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

func main() {
	flag.Parse()
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) (err error) {
	defer torch.Recover(&err)
	dev := torch.DefaultDevice()
	x := torch.TensorOptions{DType: torch.Float32, Device: dev}.Linspace(-math.Pi, math.Pi, 2000)
	y := x.Sin()

	// y = a + b P3(c + d x), from where the tutorial begins.
	number := func(v float64) torch.Tensor {
		return torch.TensorOptions{DType: torch.Float32, Device: dev, RequiresGrad: true}.Full(nil, v)
	}
	a, b, c, d := number(0), number(-1), number(0), number(0.3)
	opt := optim.NewSGD([]torch.Tensor{a, b, c, d}, *rate)
	for step := range *steps {
		torch.Scope(func() {
			predicted := a.Add(b.Mul(torch.Apply1(legendre3{}, c.Add(d.Mul(x)))))
			loss := predicted.Sub(y).Square().Sum()
			if step%100 == 99 {
				fmt.Fprintf(out, "%d %.6f\n", step, loss.Float64())
			}
			loss.Backward()
			opt.Step()
			opt.ZeroGrad()
		})
	}
	fmt.Fprintf(out, "y = %.6f %+.6f * P3(%.6f %+.6f x)\n", a.Float64(), b.Float64(), c.Float64(), d.Float64())
	return nil
}
