package swa_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
)

// Batch normalisations of an averaged model see the data once more.
func ExampleUpdateBN() {
	model := nn.NewBatchNorm1d(1)
	averaged := swa.NewAveragedModel(model)
	averaged.UpdateParameters(model)
	batches := func(yield func(torch.Tensor, error) bool) { // a loader's Epoch in a program
		for _, value := range []float32{1, 3} {
			if !yield(torch.FromSlice([]float32{value, value}, 2, 1), nil) {
				return
			}
		}
	}
	err := swa.UpdateBN(averaged, batches, func(x torch.Tensor) { averaged.Forward(x) })
	fmt.Println(err, averaged.Module.RunningMean)
	// Output: <nil> tensor([2.])
}

// An average of one's own: the largest weight that was seen.
func ExampleOptions() {
	model := nn.NewLinear(1, 1)
	largest := func(averaged, current torch.Tensor, _ int) torch.Tensor { return averaged.Maximum(current) }
	averaged := swa.NewAveragedModel(model, swa.Options{AvgFn: largest})
	for _, w := range []float64{1, 5, 2} {
		torch.NoGrad(func() { model.Weight.FillInPlace(w) })
		averaged.UpdateParameters(model)
	}
	fmt.Println(averaged.Module.Weight.Float64(), averaged.NAveraged.Int())
	// Output: 5 3
}
