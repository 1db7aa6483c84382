package torch_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// clipped is the identity whose gradient is kept within a limit.
type clipped struct{ limit float64 }

func (clipped) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{in[0].Clone()}
}

func (c clipped) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{grads[0].Clamp(-c.limit, c.limit)}
}

// An operation with a derivative of one's own.
func ExampleApply1() {
	x := torch.FromSlice([]float64{1, 2, 3}).SetRequiresGrad(true)
	y := torch.Apply1(clipped{limit: 5}, x)
	fmt.Println(y.GradFn().Name())
	y.PowScalar(2).Sum().Backward()
	fmt.Println(x.Grad())
	// Output:
	// clippedBackward
	// tensor([2., 4., 5.], dtype=torch.float64)
}

func ExampleTensor_RegisterHook() {
	w := torch.FromSlice([]float64{1, 2}).SetRequiresGrad(true)
	h := w.RegisterHook(func(grad torch.Tensor) torch.Tensor {
		fmt.Println("gradient", grad)
		return grad.MulScalar(0.1) // takes its place
	})
	w.Mul(w).Sum().Backward()
	h.Remove()
	fmt.Println(w.Grad())
	// Output:
	// gradient tensor([2., 4.], dtype=torch.float64)
	// tensor([0.2000, 0.4000], dtype=torch.float64)
}

// The step is taken as soon as the gradient is there, and the gradient goes at once.
func ExampleTensor_RegisterPostAccumulateGradHook() {
	w := torch.FromSlice([]float64{1, 2}).SetRequiresGrad(true)
	w.RegisterPostAccumulateGradHook(func(w torch.Tensor) {
		torch.NoGrad(func() { w.SubInPlace(w.Grad().MulScalar(0.5)) })
		w.SetGrad(torch.Tensor{})
	})
	w.Sum().Backward()
	fmt.Println(w, w.Grad().Defined())
	// Output: tensor([0.5000, 1.5000], dtype=torch.float64, requires_grad=True) false
}

func ExampleCallbackPanic() {
	limit := errors.New("the gradient is too large")
	x := torch.Ones(2).SetRequiresGrad(true)
	x.RegisterHook(func(grad torch.Tensor) torch.Tensor {
		if grad.Abs().Max().Float64() > 10 {
			panic(limit)
		}
		return grad
	})
	err := torch.Try(func() { x.MulScalar(100).Sum().Backward() })
	fmt.Println(errors.Is(err, torch.ErrCallback), errors.Is(err, limit))
	// Output: true true
}

func ExampleDetectAnomaly() {
	x := torch.Zeros(1).SetRequiresGrad(true)
	err := torch.Try(func() {
		torch.DetectAnomaly(func() { x.Sqrt().MulScalar(0).Sum().Backward() })
	})
	_, where, _ := strings.Cut(err.Error(), "; ")
	node, _, _ := strings.Cut(where, " at ")
	fmt.Println(node, strings.Contains(where, "example_callback_test.go:"))
	// Output: SqrtBackward0 was recorded true
}
