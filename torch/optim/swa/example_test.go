package swa_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
)

func ExampleAveragedModel() {
	model := nn.NewLinear(1, 1)
	ema := swa.NewAveragedModel(model, swa.Options{MultiAvgFn: swa.EMAMultiAvgFn(0.5)})
	for _, weight := range []float64{0, 1, 1} { // what a training would do
		torch.NoGrad(func() { model.Weight.FillInPlace(weight) })
		ema.UpdateParameters(model)
	}
	fmt.Println(ema.Module.Weight.Float64())
	for name := range nn.StateDict(ema) {
		fmt.Println(name)
	}
	// Output:
	// 0.75
	// n_averaged
	// module.weight
	// module.bias
}
