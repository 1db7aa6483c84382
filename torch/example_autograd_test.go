package torch_test

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
)

// A frozen tensor takes part in the computation and gets no gradient.
func ExampleTensor_SetRequiresGrad() {
	frozen := torch.FromSlice([]float32{2, 3})
	head := torch.FromSlice([]float32{1, 1}).SetRequiresGrad(true)
	frozen.Mul(head).Sum().Backward()
	fmt.Println(head.Grad(), frozen.Grad().Defined())
	// Output: tensor([2., 3.]) false
}

// Gradients add up until they are cleared.
func ExampleTensor_Grad() {
	w := torch.FromValue(3.0).SetRequiresGrad(true)
	for range 2 {
		w.MulScalar(5).Backward()
		fmt.Println(w.Grad().Float64())
	}
	torch.ClearGrads([]torch.Tensor{w})
	fmt.Println(w.Grad().Defined())
	// Output:
	// 5
	// 10
	// false
}

// Of a result with several elements the gradient to start from is given.
func ExampleTensor_Backward_gradient() {
	x := torch.FromSlice([]float64{1, 2, 3}).SetRequiresGrad(true)
	y := x.Square()
	y.Backward(torch.BackwardOptions{Gradient: torch.FromSlice([]float64{1, 0, 10})})
	fmt.Println(x.Grad())
	// Output: tensor([ 2.,  0., 60.], dtype=torch.float64)
}

// A second Backward through the same operations needs RetainGraph in the first.
func ExampleBackwardOptions() {
	x := torch.FromValue(2.0).SetRequiresGrad(true)
	y := x.PowScalar(3)
	y.Backward(torch.BackwardOptions{RetainGraph: true})
	y.Backward()
	fmt.Println(x.Grad().Float64())
	fmt.Println(torch.Try(func() { y.Backward() }) != nil)
	// Output:
	// 24
	// true
}

// Several losses in one pass.
func ExampleBackward() {
	x := torch.FromSlice([]float64{1, 2}).SetRequiresGrad(true)
	torch.Backward([]torch.Tensor{x.Sum(), x.Square().Sum()}, nil)
	fmt.Println(x.Grad())
	// Output: tensor([3., 5.], dtype=torch.float64)
}

// What the outputs do not depend on is an error, or with AllowUnused an undefined gradient.
func ExampleGradOptions() {
	x, other := torch.Ones(1).SetRequiresGrad(true), torch.Ones(1).SetRequiresGrad(true)
	y := x.MulScalar(3).Sum()
	grads := torch.Grad([]torch.Tensor{y}, []torch.Tensor{x, other}, torch.GradOptions{AllowUnused: true})
	fmt.Println(grads[0], grads[1].Defined())
	// Output: tensor([3.]) false
}

// The gradient of the norm of a gradient, as a gradient penalty needs it.
func ExampleGrad_penalty() {
	x := torch.FromSlice([]float64{3, 4}).SetRequiresGrad(true)
	score := x.Square().Sum()
	slope := torch.Grad([]torch.Tensor{score}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
	slope.Norm().SubScalar(1).Square().Backward()
	fmt.Println(slope)
	fmt.Println(x.Grad())
	// Output:
	// tensor([6., 8.], dtype=torch.float64, grad_fn=<MulBackward0>)
	// tensor([21.6000, 28.8000], dtype=torch.float64)
}

// Detach cuts a tensor off: a target that must not be learned.
func ExampleTensor_Detach() {
	w := torch.FromValue(3.0).SetRequiresGrad(true)
	prediction := w.MulScalar(2)
	target := prediction.Detach().AddScalar(1)
	target.Sub(prediction).Square().Backward()
	fmt.Println(target.RequiresGrad(), w.Grad().Float64())
	// Output: false -4
}

// Results keep no gradient unless they are asked to.
func ExampleTensor_RetainGrad() {
	x := torch.FromSlice([]float64{1, 2}).SetRequiresGrad(true)
	hidden := x.MulScalar(3)
	hidden.RetainGrad()
	hidden.Square().Sum().Backward()
	fmt.Println(hidden.Grad())
	// Output: tensor([ 6., 12.], dtype=torch.float64)
}

func ExampleTensor_IsLeaf() {
	w := torch.Ones(2).SetRequiresGrad(true)
	y := w.Square()
	fmt.Println(w.IsLeaf(), y.IsLeaf(), y.Detach().IsLeaf())
	fmt.Println(y.GradFn())
	// Output:
	// true false true
	// <PowBackward0>
}

// A mode holds for what it runs, and functions nest.
func ExampleEnableGrad() {
	torch.NoGrad(func() {
		fmt.Println(torch.IsGradEnabled())
		torch.EnableGrad(func() { fmt.Println(torch.IsGradEnabled()) })
	})
	fmt.Println(torch.IsGradEnabled())
	// Output:
	// false
	// true
	// true
}

// Inference is NoGrad that also leaves out what views and versions cost.
func ExampleInference() {
	w := torch.Ones(2, 2).SetRequiresGrad(true)
	var y torch.Tensor
	torch.Inference(func() { y = w.MatMul(w) })
	fmt.Println(y.IsInference(), y.RequiresGrad())
	err := torch.Try(func() { y.Mul(w) }) // autograd refuses it
	fmt.Println(err != nil)
	// Output:
	// true false
	// true
}

// Modes belong to a goroutine; Go hands them on.
func ExampleGo() {
	done := make(chan bool)
	torch.NoGrad(func() {
		go func() { done <- torch.IsGradEnabled() }()
		fmt.Println(<-done)
		torch.Go(func() { done <- torch.IsGradEnabled() })
		fmt.Println(<-done)
	})
	// Output:
	// true
	// false
}

// What the backward pass needs is kept in half precision.
func ExampleSavedTensorsHooks() {
	x := torch.FromSlice([]float32{1, 2}).SetRequiresGrad(true)
	var y torch.Tensor
	torch.SavedTensorsHooks(
		func(x torch.Tensor) any { return x.To(torch.BFloat16) },
		func(packed any) torch.Tensor { return packed.(torch.Tensor).To(torch.Float32) },
		func() { y = x.Square().Sum() },
	)
	y.Backward()
	fmt.Println(x.Grad())
	// Output: tensor([2., 4.])
}

// expm1 is exp(x) - 1, whose derivative is its result + 1.
type expm1 struct{}

func (expm1) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	y := in[0].Exp().SubScalar(1)
	ctx.SaveForBackward(y)
	return []torch.Tensor{y}
}

func (expm1) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{grads[0].Mul(ctx.SavedTensors()[0].AddScalar(1))}
}

func ExampleFunctionCtx_SaveForBackward() {
	x := torch.FromSlice([]float64{0, math.Ln2}).SetRequiresGrad(true)
	y := torch.Apply1(expm1{}, x)
	y.Sum().Backward()
	fmt.Println(y.Detach().Round(), x.Grad().Round())
	// Output: tensor([0., 1.], dtype=torch.float64) tensor([1., 2.], dtype=torch.float64)
}

// straight rounds, and lets gradients pass as if it did not.
type straight struct{}

func (straight) Forward(_ *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{in[0].Round()}
}

func (straight) Backward(_ *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor { return grads }

// The straight-through estimator of quantized networks.
func ExampleFunction() {
	w := torch.FromSlice([]float64{0.4, 1.6}).SetRequiresGrad(true)
	torch.Apply1(straight{}, w).MulScalar(3).Sum().Backward()
	fmt.Println(w.Grad())
	// Output: tensor([3., 3.], dtype=torch.float64)
}

// sortWithOrder sorts; the order that it returns as well has no derivative.
type sortWithOrder struct{}

func (sortWithOrder) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	values, order := in[0].Sort()
	ctx.SaveForBackward(order)
	ctx.MarkNonDifferentiable(order)
	return []torch.Tensor{values, order}
}

func (sortWithOrder) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	order := ctx.SavedTensors()[0]
	return []torch.Tensor{torch.ZerosLike(grads[0]).Scatter(0, order, grads[0])}
}

func ExampleApply() {
	x := torch.FromSlice([]float64{30, 10, 20}).SetRequiresGrad(true)
	out := torch.Apply(sortWithOrder{}, x)
	fmt.Println(out[1], out[1].RequiresGrad())
	out[0].Mul(torch.FromSlice([]float64{1, 2, 3})).Sum().Backward()
	fmt.Println(x.Grad())
	// Output:
	// tensor([1, 2, 0]) false
	// tensor([3., 1., 2.], dtype=torch.float64)
}

// Gradients may be set by hand, by what computes them elsewhere.
func ExampleTensor_SetGrad() {
	w := torch.Ones(2).SetRequiresGrad(true)
	w.SetGrad(torch.FromSlice([]float32{0.5, -0.5}))
	fmt.Println(w.Grad())
	w.SetGrad(torch.Tensor{})
	fmt.Println(w.Grad().Defined())
	// Output:
	// tensor([ 0.5000, -0.5000])
	// false
}

// The graph of the way back, from a loss to the leaves.
func ExampleNode_NextFunctions() {
	w := torch.FromSlice([]float32{1, 2}).SetRequiresGrad(true)
	loss := w.Mul(torch.Ones(2)).Sum()
	fmt.Println(loss.GradFn().Name())
	mul := loss.GradFn().NextFunctions()[0].Node
	fmt.Println(mul.Name(), len(mul.NextFunctions()))
	fmt.Println(mul.NextFunctions()[0].Node.Name()) // where the gradient of w arrives
	// Output:
	// SumBackward0
	// MulBackward0 2
	// torch::autograd::AccumulateGrad
}
