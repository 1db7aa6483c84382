package nnutils_test

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
)

// Clipping by value keeps each element in bounds, clipping by norm the direction of all.
func ExampleClipGradValue() {
	torch.Scope(func() {
		w := torch.Zeros(3).SetRequiresGrad(true)
		w.SetGrad(torch.FromSlice([]float32{-9, 0.5, 2}))
		nnutils.ClipGradValue([]torch.Tensor{w}, 1)
		fmt.Println(w.Grad())
	})
	// Output: tensor([-1.0000,  0.5000,  1.0000])
}

// The largest element, and an error where a gradient is not finite.
func ExampleNormOptions() {
	torch.Scope(func() {
		grads := []torch.Tensor{torch.FromSlice([]float32{1, -7}), torch.FromSlice([]float32{3})}
		fmt.Println(nnutils.GetTotalNorm(grads, nnutils.NormOptions{NormType: new(math.Inf(1))}))

		broken := []torch.Tensor{torch.FromSlice([]float32{float32(math.NaN())})}
		err := torch.Try(func() { nnutils.GetTotalNorm(broken, nnutils.NormOptions{ErrorIfNonfinite: true}) })
		fmt.Println(err != nil)
	})
	// Output:
	// tensor(7.)
	// true
}

// One norm for models that are clipped together.
func ExampleClipGradsWithNorm() {
	torch.Scope(func() {
		actor, critic := torch.Zeros(1).SetRequiresGrad(true), torch.Zeros(1).SetRequiresGrad(true)
		actor.SetGrad(torch.FromSlice([]float32{3}))
		critic.SetGrad(torch.FromSlice([]float32{4}))
		total := nnutils.GetTotalNorm([]torch.Tensor{actor.Grad(), critic.Grad()})
		nnutils.ClipGradsWithNorm([]torch.Tensor{actor, critic}, 1, total)
		fmt.Println(total, actor.Grad(), critic.Grad())
	})
	// Output: tensor(5.) tensor([0.6000]) tensor([0.8000])
}

func ExampleParametersToVector() {
	torch.Scope(func() {
		layer := nn.NewLinear(2, 1)
		nnutils.VectorToParameters(torch.FromSlice([]float32{1, 2, 3}), nn.Parameters(layer))
		fmt.Println(layer.Weight.Detach(), layer.Bias.Detach())
		fmt.Println(nnutils.ParametersToVector(nn.Parameters(layer)).Detach())
	})
	// Output:
	// tensor([[1., 2.]]) tensor([3.])
	// tensor([1., 2., 3.])
}

// For inference: one layer in place of two.
func ExampleFuseConvBN() {
	torch.Scope(func() {
		torch.ManualSeed(0)
		conv, norm := nn.Eval(nn.NewConv2d(3, 8, 3)), nn.Eval(nn.NewBatchNorm2d(8))
		fused := nnutils.FuseConvBN(conv, norm)
		x := torch.RandN(1, 3, 8, 8)
		want := norm.Forward(conv.Forward(x))
		fmt.Println(fused.Forward(x).AllClose(want, torch.AllCloseOptions{ATol: new(1e-5)}))
	})
	// Output: true
}
