package nn_test

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

func TestContainersEqualPython(t *testing.T) {
	row := func(v float64) torch.Tensor { return nn.NewParameter(torch.Full([]int{2}, v)) }
	linear := func() nn.Layer { return nn.NewLinear(2, 2) }
	equalPython(t, []moduleCase{
		{"nn.ParameterList([torch.full((2,), 3.), torch.full((2,), 5.)])", "x[0] * m[0] + m[1]",
			func() any { return nn.ParameterList{row(3), row(5)} },
			func(m any, x tensors) tensors { p := m.(nn.ParameterList); return tensors{x[0].Mul(p[0]).Add(p[1])} }, [][]int{{3, 2}}, nil},
		{"nn.ParameterDict({'bias': torch.full((2,), 3.), 'scale': torch.full((2,), 5.)})", "x[0] * m['scale'] + m['bias']",
			func() any { return nn.ParameterDict{"scale": row(5), "bias": row(3)} },
			func(m any, x tensors) tensors {
				p := m.(nn.ParameterDict)
				return tensors{x[0].Mul(p["scale"]).Add(p["bias"])}
			}, [][]int{{3, 2}}, nil},
		{"nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])", "m[1](m[0](x[0]))",
			func() any { return nn.ModuleList{linear(), linear()} },
			func(m any, x tensors) tensors { return tensors{nn.Chain(x[0], m.(nn.ModuleList)...)} }, [][]int{{3, 2}}, nil},
		{"nn.ModuleDict({'a': nn.Linear(2, 2), 'b': nn.ReLU()})", "m['b'](m['a'](x[0]))",
			func() any { return nn.ModuleDict{"b": nn.ReLU{}, "a": linear()} },
			func(m any, x tensors) tensors {
				d := m.(nn.ModuleDict)
				return tensors{nn.Chain(x[0], d["a"], d["b"])}
			}, [][]int{{3, 2}}, nil},
	})
}
