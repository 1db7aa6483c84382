package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
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

// A Named is the module that it names, wherever modules are looked for.
func TestNamedSequential(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		net := nn.NamedSequential{{Name: "hidden", Module: nn.NewLinear(2, 3)}, {Name: "drop", Module: nn.NewDropout(1)}}
		defer nn.Close(net)
		var keys []string
		for key := range nn.StateDict(net) {
			keys = append(keys, key)
		}
		require.Equal(t, []string{"hidden.weight", "hidden.bias"}, keys)
		x := torch.Ones(1, 2)
		torchtest.Equal(t, net.Forward(x).Abs(), torch.Zeros(1, 3))
		torchtest.Equal(t, nn.Eval(net).Forward(x), net[0].Module.Forward(x))
		linear := 0
		for _, m := range nn.NamedModules(net) {
			if _, ok := m.(*nn.Linear); ok {
				linear++
			}
		}
		nn.Apply(net, func(m any) {
			if _, ok := m.(*nn.Linear); ok {
				linear++
			}
		})
		require.Equal(t, 2, linear)
		require.Equal(t, "Sequential(\n  (hidden): Linear(in_features=2, out_features=3, bias=True)\n  (drop): Dropout(p=1.0, inplace=False)\n)",
			net.String())
	})
}

func TestDropoutInPlace(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		drop, over := nn.NewDropout(), nn.NewDropout()
		over.InPlace = true
		x := torch.Ones(100)
		torch.ManualSeed(1)
		want := drop.Forward(x)
		torch.ManualSeed(1)
		torchtest.Equal(t, over.Forward(x), want)
		torchtest.Equal(t, x, want)
		require.Equal(t, "Dropout(p=0.5, inplace=True)", over.String())
	})
}
