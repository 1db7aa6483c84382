package ops_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// The stem of many networks, and what says which of its channels count.
func Example() {
	torch.ManualSeed(0)
	net := nn.Sequential{
		ops.NewConv2dNormActivation(3, 16, ops.Conv2dNormActivationOptions{Stride: 2, Activation: nn.Hardswish{InPlace: true}}),
		ops.NewSqueezeExcitation(16, 4),
	}
	defer nn.Close(net)
	torch.NoGrad(func() {
		torch.Scope(func() { fmt.Println(net.Forward(torch.Zeros(2, 3, 32, 32)).Shape(), nn.NumParameters(net)) })
	})
	// Output: [2 16 16 16] 612
}
