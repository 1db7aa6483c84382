package amp_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Products are computed in half the bits, losses in float32; parameters stay as they are.
func ExampleAutocast() {
	torch.Scope(func() {
		layer := nn.NewLinear(4, 4)
		amp.Autocast(torch.CPU, torch.BFloat16, func() {
			y := layer.Forward(torch.Ones(2, 4))
			loss := F.MSELoss(y, torch.Zeros(2, 4))
			fmt.Println(y.DType(), loss.DType(), layer.Weight.DType())
		})
	})
	// Output: bfloat16 float32 float32
}

// A part of the network that needs float32 throughout.
func ExampleDisabled() {
	torch.Scope(func() {
		x := torch.Ones(2, 2)
		amp.Autocast(torch.CPU, torch.BFloat16, func() {
			y := x.MatMul(x)
			amp.Disabled(torch.CPU, func() { fmt.Println(y.To(torch.Float32).MatMul(x).DType()) })
		})
	})
	// Output: float32
}

// A step whose gradients overflow is left out, and the scale falls.
func ExampleGradScaler_Step() {
	torch.Scope(func() {
		w := torch.Ones(1).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{w}, 0.5)
		defer opt.Close()
		scaler := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16, InitScale: 1024})
		defer scaler.Close()
		for _, factor := range []float64{1e38, 1} {
			scaler.Scale(w.MulScalar(factor).Sum()).Backward()
			outcome := scaler.Step(opt)
			opt.ZeroGrad()
			fmt.Println(outcome.Skipped(), scaler.Scaling(), w.Float64())
		}
	})
	// Output:
	// true 512 1
	// false 512 0.5
}

// Clipping wants the true gradients.
func ExampleGradScaler_Unscale() {
	torch.Scope(func() {
		w := torch.Ones(1).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{w}, 1)
		defer opt.Close()
		scaler := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16})
		defer scaler.Close()
		scaler.Scale(w.MulScalar(30).Sum()).Backward()
		scaler.Unscale(opt)
		norm := nnutils.ClipGradNorm([]torch.Tensor{w}, 0.25)
		scaler.Step(opt)
		fmt.Printf("%v %.2f\n", norm.Float64(), w.Float64())
	})
	// Output: 30 0.75
}

// bfloat16 needs no scaling: the same program with a scaler that does nothing.
func ExampleNewGradScaler() {
	scaler := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.BFloat16})
	defer scaler.Close()
	fmt.Println(scaler.Enabled(), scaler.Scaling())
	// Output: false 1
}

func ExampleGradScaler_StateDict() {
	scaler := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16, InitScale: 8})
	defer scaler.Close()
	other := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16})
	defer other.Close()
	fmt.Println(other.LoadStateDict(scaler.StateDict()), other.Scaling())
	// Output: <nil> 8
}
