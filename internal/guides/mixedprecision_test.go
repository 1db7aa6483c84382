package guides

import (
	"fmt"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

func Example_autocast() {
	dev := torch.DefaultDevice()
	torch.Scope(func() {
		model := nn.To(nn.NewLinear(8, 4), dev)
		x := torch.TensorOptions{Device: dev}.Ones(2, 8)
		amp.Autocast(dev, torch.BFloat16, func() {
			y := model.Forward(x)
			loss := F.MSELoss(y, torch.TensorOptions{Device: dev}.Zeros(2, 4))
			fmt.Println("product", y.DType(), "loss", loss.DType(), "weight", model.Weight.DType())
		})
	})
	// Output: product bfloat16 loss float32 weight float32
}

func Example_train() {
	dev := torch.DefaultDevice()
	torch.ManualSeed(1)
	model := nn.To(nn.NewLinear(8, 2), dev)
	opt := optim.NewSGD(nn.Parameters(model), 0.1)
	defer opt.Close()
	scaler := amp.NewGradScaler(dev) // matters for float16 alone; with other types it does nothing and costs nothing
	defer scaler.Close()
	var first, last float64
	for step := range 20 {
		torch.Scope(func() {
			x := torch.TensorOptions{Device: dev}.Ones(4, 8)
			target := torch.TensorOptions{Device: dev, DType: torch.Int64}.Zeros(4)
			var loss torch.Tensor
			amp.Autocast(dev, torch.BFloat16, func() {
				loss = F.CrossEntropy(model.Forward(x), target)
			})
			scaler.Scale(loss).Backward() // outside of Autocast: it computes in the types of the way forward
			scaler.Step(opt)
			opt.ZeroGrad()
			last = loss.Float64()
		})
		if step == 0 {
			first = last
		}
	}
	fmt.Println(last < first/2)
	nn.Close(model)
	// Output: true
}
