// Quickstart: the devices of this machine, a matrix product on each with its time, moving
// tensors between them, what a mistake looks like, and results back in Go.
//
//	go run ./examples/quickstart
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

func main() {
	n := flag.Int("n", 1024, "size of the square matrices")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "quickstart: unexpected argument %q (-h lists the flags)\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(*n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(n int) error {
	if err := torch.Load(); err != nil {
		return err
	}
	if n < 1 {
		return fmt.Errorf("quickstart: -n must be at least 1, got %d", n)
	}
	fmt.Printf("libtorch %s, %d threads\n", torch.Version(), torch.NumThreads())
	if err := cuda.Unavailable(); err != nil {
		fmt.Println("no GPU:", err)
	}

	fmt.Println("\n# Tensors")
	x := torch.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	fmt.Println(x)
	fmt.Println(x.MatMul(x.T()).Add(torch.Eye(2)).ReLU())

	fmt.Println("\n# A matrix product on every device")
	for _, dev := range devices() {
		if err := torch.Try(func() { product(dev, n) }); err != nil {
			return err
		}
	}

	fmt.Println("\n# Moving tensors")
	for _, dev := range devices() {
		there := x.To(dev, torch.Float64)
		fmt.Printf("%v %v -> %v %v -> sum %v, back on %v\n",
			x.Device(), x.DType(), there.Device(), there.DType(), there.Sum().Float64(), there.CPU().Device())
	}

	fmt.Println("\n# Mistakes are errors, not crashes")
	mistakes(x)

	fmt.Println("\n# Results in Go")
	fmt.Println(torch.Values[float32](x.SumDim([]int{1})), x.Mean().Float64(), x.ArgMax().Int())
	return nil
}

// devices lists the CPU and every usable card.
func devices() []torch.Device {
	list := []torch.Device{torch.CPU}
	for i := range cuda.DeviceCount() {
		list = append(list, torch.CUDA(i))
	}
	return list
}

func product(dev torch.Device, n int) {
	torch.Scope(func() {
		a := torch.TensorOptions{Device: dev}.RandN(n, n)
		b := torch.TensorOptions{Device: dev}.RandN(n, n)
		a.MatMul(b) // the first one warms up
		const rounds = 5
		torch.Synchronize(dev)
		start := time.Now()
		for range rounds {
			a.MatMul(b)
		}
		torch.Synchronize(dev)
		each := time.Since(start) / rounds
		flops := 2 * float64(n) * float64(n) * float64(n) / each.Seconds()
		fmt.Printf("%-7v %d x %d float32: %v, %.1f GFLOP/s\n", dev, n, n, each.Round(time.Microsecond), flops/1e9)
	})
}

func mistakes(x torch.Tensor) {
	fmt.Println(torch.Try(func() { x.MatMul(x) }))

	// A tensor on another device: on the card if there is one, else on "meta", the
	// device that holds only shapes.
	elsewhere := torch.Meta
	if cuda.IsAvailable() {
		elsewhere = torch.CUDA(0)
	}
	err := torch.Try(func() { x.Add(x.To(elsewhere)) })
	fmt.Println(err)

	var e *torch.Error
	if errors.As(err, &e) {
		fmt.Printf("operator %s, arguments %v\n", e.Op, e.Args)
	}
	if !cuda.IsAvailable() {
		err := torch.Try(func() { x.To(torch.CUDA(0)) })
		fmt.Printf("%v; errors.Is(err, torch.ErrNoCUDA) = %v\n", err, errors.Is(err, torch.ErrNoCUDA))
	}
}
