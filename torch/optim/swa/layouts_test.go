package swa_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// layouts are those of testdata/layouts.py, by the same names.
var layouts = map[string]func(x torch.Tensor) torch.Tensor{
	"dense":         func(x torch.Tensor) torch.Tensor { return x.Clone() },
	"transposed":    func(x torch.Tensor) torch.Tensor { return x.Transpose(-1, -2).Contiguous().Transpose(-1, -2) },
	"channels_last": func(x torch.Tensor) torch.Tensor { return x.Contiguous(torch.ChannelsLast) },
	"narrow": func(x torch.Tensor) torch.Tensor {
		return torch.Cat([]torch.Tensor{x, x}, -1).Narrow(-1, 0, x.Size(-1))
	},
	"spread": func(x torch.Tensor) torch.Tensor { return torch.Stack([]torch.Tensor{x, x}, -1).Select(-1, 0) },
	"offset": func(x torch.Tensor) torch.Tensor {
		zeros := torch.TensorOptions{DType: x.DType()}.Zeros(3)
		return torch.Cat([]torch.Tensor{zeros, x.Reshape(-1)}, 0).Narrow(0, 3, x.NumEl()).View(x.Shape()...)
	},
}

var dtypes = map[string]torch.DType{"float32": torch.Float32, "float64": torch.Float64, "bfloat16": torch.BFloat16,
	"complex64": torch.Complex64}

var layoutWays = map[string]func() swa.Options{
	"swa":      func() swa.Options { return swa.Options{} },
	"swa many": func() swa.Options { return swa.Options{MultiAvgFn: swa.SWAMultiAvgFn()} },
	"ema":      func() swa.Options { return swa.Options{MultiAvgFn: swa.EMAMultiAvgFn(0.9)} },
	"ema one":  func() swa.Options { return swa.Options{AvgFn: swa.EMAAvgFn(0.9)} },
}

// However parameters lie in memory, their averages have Python's bits and Python's strides.
func TestLayoutsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(5)
	x := torch.RandN(3, 2, 3, 4, 5) // three parameters
	defer x.Close()
	want := peer.Run(t, "testdata/layouts.py", peer.Tensors{"x": x})
	compared := 0
	for name, d := range dtypes {
		for layout, lay := range layouts {
			for way, options := range layoutWays {
				torch.Scope(func() {
					model := &struct{ P []torch.Tensor }{}
					for i := range x.Size(0) {
						model.P = append(model.P, lay(x.Select(0, i).To(d)).SetRequiresGrad(true))
					}
					average := swa.NewAveragedModel(model, options())
					defer nn.Close(average)
					for range 4 {
						average.UpdateParameters(model)
						torch.NoGrad(func() {
							for _, p := range model.P {
								p.MulScalarInPlace(0.75).AddScalarInPlace(0.3)
							}
						})
					}
					for i, p := range average.Module.P {
						key := fmt.Sprint(name, " ", layout, " ", way, " ", i)
						torchtest.Equal(t, p.Detach().Contiguous(), want[key])
						require.Equal(t, torch.Values[int](want[key+" strides"]), p.Stride(), key)
						compared++
					}
				})
			}
		}
	}
	require.Equal(t, len(want)/2, compared)
}
