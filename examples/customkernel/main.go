// Customkernel computes with kernels of its own: GELU fused with the addition of a bias, forward
// and backward, and a loss. Those for the CPU are C++, compiled when the program starts, those
// for a card are CUDA, compiled by NVRTC; the derivatives are Go. It checks them against what
// libtorch's operators give, and times both.
//
//	go run ./examples/customkernel
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

func main() { cli.Main("customkernel", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("customkernel", flag.ContinueOnError)
	rows := fs.Int("rows", 2048, "rows of the matrix")
	columns := fs.Int("columns", 3072, "columns of the matrix")
	rounds := fs.Int("rounds", 20, "how often each is timed")
	if err := cli.Parse(fs, args, out, "customkernel checks and times kernels of its own."); err != nil {
		return err
	}
	for name, n := range map[string]int{"rows": *rows, "columns": *columns, "rounds": *rounds} {
		if err := cli.Positive(name, float64(n)); err != nil {
			return err
		}
	}
	if err := torch.Load(); err != nil {
		return err
	}
	kernels, err := Open()
	if err != nil {
		return err
	}
	defer kernels.Close()
	devices := []torch.Device{torch.CPU}
	if cuda.IsAvailable() {
		devices = append(devices, torch.CUDA(0))
	} else {
		fmt.Fprintln(out, "no GPU:", cuda.Unavailable())
	}
	for _, dev := range devices {
		var failed error
		err := torch.Try(func() {
			torch.Scope(func() { failed = kernels.compare(ctx, out, dev, *rows, *columns, *rounds) })
		})
		if err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// A variant is one way to compute something.
type variant struct {
	name string
	run  func() torch.Tensor
}

// compare checks and times the kernels against libtorch's operators.
func (k *Kernels) compare(ctx context.Context, out io.Writer, dev torch.Device, rows, columns, rounds int) error {
	torch.ManualSeed(1)
	options := torch.TensorOptions{Device: dev, DType: torch.Float32}
	x := options.RandN(rows, columns).SetRequiresGrad(true)
	layer := BiasGELU{Bias: options.RandN(columns).SetRequiresGrad(true), kernels: k}
	target := options.RandN(rows, columns)
	leaves := []torch.Tensor{x, layer.Bias}
	for _, task := range []struct {
		name       string
		own, eager func() torch.Tensor
	}{
		{"bias + GELU", func() torch.Tensor { return layer.Forward(x) }, func() torch.Tensor { return F.GELU(x.Add(layer.Bias)) }},
		{"log cosh loss", func() torch.Tensor { return k.LogCosh(x, target) }, func() torch.Tensor { return x.Sub(target).Cosh().Log().Mean() }},
	} {
		worst := distance(task.own(), task.eager(), leaves)
		fmt.Fprintf(out, "%v, %s of %d x %d: results and gradients differ by %.1e at most\n", dev, task.name, rows, columns, worst)
		const limit = 1e-5
		if !(worst < limit) {
			return fmt.Errorf("customkernel: %s differs by %g, which is more than rounding", task.name, worst)
		}
		for _, v := range []variant{{"own", task.own}, {"eager", task.eager}} {
			forward := timed(ctx, dev, rounds, func() { torch.NoGrad(func() { v.run() }) })
			both := timed(ctx, dev, rounds, func() { torch.Grad([]torch.Tensor{v.run().Sum()}, leaves, torch.GradOptions{AllowUnused: true}) })
			if ctx.Err() != nil {
				return cli.Interruptedf("interrupted")
			}
			fmt.Fprintf(out, "    %-6s forward %9v   forward and backward %9v\n", v.name, forward, both)
		}
	}
	return nil
}

// distance is the largest difference between two tensors, and between their gradients.
func distance(own, eager torch.Tensor, leaves []torch.Tensor) float64 {
	grads := func(y torch.Tensor) []torch.Tensor {
		return torch.Grad([]torch.Tensor{y.Square().Sum()}, leaves[:1])
	}
	worst := own.Sub(eager).Abs().Max().Float64()
	a, b := grads(own), grads(eager)
	for i := range a {
		scale := max(1, b[i].Abs().Max().Float64())
		worst = max(worst, a[i].Sub(b[i]).Abs().Max().Float64()/scale)
	}
	return worst
}

// timed is the shortest of several times that fn took, which is run once before.
func timed(ctx context.Context, dev torch.Device, rounds int, fn func()) time.Duration {
	least := time.Duration(1<<63 - 1)
	for i := range rounds + 1 {
		if ctx.Err() != nil {
			break
		}
		start := time.Now()
		torch.Scope(fn)
		torch.Synchronize(dev)
		if i > 0 {
			least = min(least, time.Since(start))
		}
	}
	return least.Round(10 * time.Microsecond)
}
