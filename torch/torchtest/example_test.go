package torchtest_test

import (
	"fmt"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Where a comparison runs: on the CPU, and on the first card where there is one.
func ExampleDevices() {
	for _, d := range torchtest.Devices() {
		x := torch.Arange(3).To(d)
		if d.IsCPU() {
			fmt.Println(d, x.Add(x))
		}
	}
	// Output: cpu tensor([0, 2, 4])
}

// verdict is a testing.TB that remembers whether a comparison failed.
type verdict struct {
	testing.TB
	failed bool
}

func (r *verdict) Helper()               {}
func (r *verdict) Fatal(...any)          { r.failed = true }
func (r *verdict) Fatalf(string, ...any) { r.failed = true }
func (r *verdict) Errorf(string, ...any) { r.failed = true }
func (r *verdict) FailNow()              { r.failed = true }

// The tolerance is PyTorch's for the dtype, unless one is given.
func ExampleAllClose() {
	torch.Scope(func() {
		got, want := torch.FromSlice([]float32{1, 2.001}), torch.FromSlice([]float32{1, 2})
		strict, loose := &verdict{}, &verdict{}
		torchtest.AllClose(strict, got, want)
		torchtest.AllClose(loose, got, want, torchtest.Tolerance{Absolute: 0.01})
		fmt.Println(strict.failed, loose.failed)
	})
	// Output: true false
}

func ExampleDefaultTolerance() {
	for _, d := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16, torch.Int64} {
		t := torchtest.DefaultTolerance(d)
		fmt.Println(d, t.Relative, t.Absolute)
	}
	// Output:
	// float64 1e-07 1e-07
	// float32 1.3e-06 1e-05
	// bfloat16 0.016 1e-05
	// int64 0 0
}
