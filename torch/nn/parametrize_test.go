package nn_test

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
)

func TestParametrizationsEqualPython(t *testing.T) {
	type (
		weight     = parametrize.WeightNormOptions
		spectral   = parametrize.SpectralNormOptions
		orthogonal = parametrize.OrthogonalOptions
	)
	linear := func() *nn.Linear { return nn.NewLinear(4, 3) }
	row := func(python string, make func() any, shape ...int) moduleCase {
		return moduleCase{python: "nn.utils.parametrizations." + python, make: make, inputs: [][]int{shape}}
	}
	with := func(python string, o orthogonal, make func() *nn.Linear, text string) moduleCase {
		return row("orthogonal("+text+python+")", func() any { return parametrize.Orthogonal(make(), o) }, 2, 4)
	}
	square := func() *nn.Linear { return nn.NewLinear(4, 4) }
	long := func() *nn.Linear { return nn.NewLinear(4, 6, nn.LinearOptions{NoBias: true}) }
	cases := []moduleCase{
		row("weight_norm(nn.Linear(4, 3))", func() any { return parametrize.WeightNorm(linear()) }, 2, 4),
		row("weight_norm(nn.Linear(4, 3), dim=1)", func() any { return parametrize.WeightNorm(linear(), weight{Dim: 1}) }, 2, 4),
		row("weight_norm(nn.Linear(4, 3), dim=None)", func() any { return parametrize.WeightNorm(linear(), weight{Dim: -1}) }, 2, 4),
		row("weight_norm(nn.Linear(4, 3), 'bias')", func() any { return parametrize.WeightNorm(linear(), weight{Name: "bias"}) }, 2, 4),
		row("weight_norm(nn.Conv2d(4, 6, 3, groups=2))", func() any {
			return parametrize.WeightNorm(nn.NewConv2d(4, 6, 3, nn.ConvOptions{Groups: 2}))
		}, 2, 4, 5, 5),
		row("spectral_norm(nn.Linear(4, 3))", func() any { return parametrize.SpectralNorm(linear()) }, 2, 4),
		row("spectral_norm(nn.Linear(4, 3), 'bias')", func() any { return parametrize.SpectralNorm(linear(), spectral{Name: "bias"}) }, 2, 4),
		row("spectral_norm(nn.Conv2d(4, 6, 3), n_power_iterations=3, eps=1e-3, dim=-2)", func() any {
			return parametrize.SpectralNorm(nn.NewConv2d(4, 6, 3), spectral{Iterations: 3, Eps: 1e-3, Dim: new(-2)})
		}, 2, 4, 5, 5),
		row("spectral_norm(nn.ConvTranspose1d(4, 6, 3))", func() any { return parametrize.SpectralNorm(nn.NewConvTranspose1d(4, 6, 3)) },
			2, 4, 5),
		row("weight_norm(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), 'bias')", func() any {
			return parametrize.SpectralNorm(linear()).Register("bias", &parametrize.WeightNormalization{})
		}, 2, 4),
		{"nn.utils.parametrizations.weight_norm(nn.LSTM(3, 4), 'weight_hh_l0')", "", func() any {
			return parametrize.WeightNorm(nn.NewLSTM(3, 4), weight{Name: "weight_hh_l0"})
		}, func(m any, x tensors) (y tensors) {
			m.(*parametrize.Module[*nn.LSTM]).With(func(l *nn.LSTM) {
				out, h, c := l.Forward(x[0])
				y = tensors{out, h, c}
			})
			return y
		}, [][]int{{5, 2, 3}}, nil},
		with("", orthogonal{}, square, "nn.Linear(4, 4)"),
		with("", orthogonal{}, linear, "nn.Linear(4, 3)"),
		with("", orthogonal{}, long, "nn.Linear(4, 6, bias=False)"),
	}
	for _, m := range []parametrize.OrthogonalMap{parametrize.MatrixExp, parametrize.Cayley, parametrize.Householder} {
		text := ", orthogonal_map='" + m.String() + "'"
		cases = append(cases, with(text, orthogonal{Map: m}, long, "nn.Linear(4, 6, bias=False)"),
			with(text+", use_trivialization=False", orthogonal{Map: m, NoTrivialization: true}, linear, "nn.Linear(4, 3)"))
	}
	equalPython(t, cases)
}
