//go:build !race && !torchdebug

package torch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// TestFormsAllocateNothing holds the generated operators to their promise: arguments,
// options and results of a call stay on the stack; a result costs its place in the scope.
func TestFormsAllocateNothing(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, y, v := torch.Ones(4, 4), torch.Ones(4, 4), torch.Ones(4)
		for name, fn := range map[string]func(){
			"method":           func() { x.Add(y) },
			"number":           func() { x.MulScalar(0.5) },
			"in place":         func() { x.CopyInPlace(y) },
			"options":          func() { x.Add(y, torch.AddOptions{Alpha: 2}) },
			"pointer option":   func() { x.TopK(2, torch.TopKOptions{Dim: new(0), Smallest: true}) },
			"string option":    func() { aten.GELU(x, aten.GELUOptions{Approximate: "tanh"}) },
			"list and options": func() { x.SumDim([]int{1}, torch.SumOptions{KeepDim: true}) },
			"variadic list":    func() { x.View(2, 8) },
			"optional int":     func() { x.Flatten(0) },
			"optional number":  func() { x.Logit(torch.LogitOptions{Eps: new(1e-3)}) },
			"optional dtype":   func() { x.Softmax(1, torch.SoftmaxOptions{DType: torch.Float64}) },
			"optional tensor":  func() { aten.Linear(x, y, v) },
			"enumeration":      func() { aten.MSELoss(x, y, aten.MSELossOptions{Reduction: torch.ReductionSum}) },
			"two numbers":      func() { x.Clamp(0.5, 1.5) },
			"list of tensors":  func() { torch.Cat([]torch.Tensor{x, y}, 1) },
			"several results":  func() { x.MaxDim(1) },
			"second form":      func() { x.ArgMaxDim(1) },
			"factory":          func() { torch.TensorOptions{DType: torch.Float64}.Zeros(2, 3) },
		} {
			require.Zero(t, testing.AllocsPerRun(100, fn), name)
		}
	})
}

func TestTooManyOptions(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(2, 3)
		for name, fn := range map[string]func(){
			"two structs":       func() { x.Add(x, torch.AddOptions{}, torch.AddOptions{}) },
			"two dtypes":        func() { x.SumAll(torch.SumAllOptions{DType: torch.Float64}, torch.SumAllOptions{DType: torch.Float32}) },
			"three of two":      func() { x.Flatten(0, 1, 2) },
			"two of one":        func() { torch.Cat([]torch.Tensor{x}, 0, 1) },
			"two TensorOptions": func() { torch.ZerosLike(x, torch.TensorOptions{}, torch.TensorOptions{}) },
		} {
			err := torch.Try(fn)
			require.ErrorContains(t, err, "at most", name)
		}
	})
}
