// Customkernel computes with kernels of its own: GELU fused with the addition of a bias, forward
// and backward, and a loss. Those for the CPU are C++, compiled when the program starts, those
// for a card are CUDA, compiled by NVRTC; the derivatives are Go. It checks them against what
// libtorch's operators give, and times both.
//
//	go run ./examples/customkernel
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

var (
	rows    = flag.Int("rows", 2048, "rows of the matrix")
	columns = flag.Int("columns", 3072, "columns of the matrix")
	rounds  = flag.Int("rounds", 20, "how often each is timed")
)

func main() {
	flag.Parse()
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) (err error) {
	defer torch.Recover(&err)
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
		torch.Scope(func() { err = kernels.compare(out, dev) })
		if err != nil {
			return err
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
func (k *Kernels) compare(out io.Writer, dev torch.Device) error {
	torch.ManualSeed(1)
	options := torch.TensorOptions{Device: dev, DType: torch.Float32}
	x := options.RandN(*rows, *columns).SetRequiresGrad(true)
	layer := BiasGELU{Bias: options.RandN(*columns).SetRequiresGrad(true), kernels: k}
	target := options.RandN(*rows, *columns)
	leaves := []torch.Tensor{x, layer.Bias}
	for _, task := range []struct {
		name       string
		own, eager func() torch.Tensor
	}{
		{"bias + GELU", func() torch.Tensor { return layer.Forward(x) }, func() torch.Tensor { return F.GELU(x.Add(layer.Bias)) }},
		{"log cosh loss", func() torch.Tensor { return k.LogCosh(x, target) }, func() torch.Tensor { return x.Sub(target).Cosh().Log().Mean() }},
	} {
		worst := distance(task.own(), task.eager(), leaves)
		fmt.Fprintf(out, "%v, %s of %d x %d: results and gradients differ by %.1e at most\n", dev, task.name, *rows, *columns, worst)
		const limit = 1e-5
		if !(worst < limit) {
			return fmt.Errorf("customkernel: %s differs by %g, which is more than rounding", task.name, worst)
		}
		for _, v := range []variant{{"own", task.own}, {"eager", task.eager}} {
			forward := timed(dev, func() { torch.NoGrad(func() { v.run() }) })
			both := timed(dev, func() { torch.Grad([]torch.Tensor{v.run().Sum()}, leaves, torch.GradOptions{AllowUnused: true}) })
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
func timed(dev torch.Device, fn func()) time.Duration {
	least := time.Duration(1<<63 - 1)
	for i := range *rounds + 1 {
		start := time.Now()
		torch.Scope(fn)
		torch.Synchronize(dev)
		if i > 0 {
			least = min(least, time.Since(start))
		}
	}
	return least.Round(10 * time.Microsecond)
}
