package nn_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// noter records what a hook sees, like the one in testdata/hooks.py.
func noter(into peer.Tensors, name string) nn.BackwardHook {
	return func(_ any, in, out []torch.Tensor) []torch.Tensor {
		for kind, grads := range map[string][]torch.Tensor{"in": in, "out": out} {
			for i, g := range grads {
				if !g.Defined() {
					g = torch.Zeros(0)
				}
				into[fmt.Sprint(name, " ", kind, " ", i)] = g.Clone().Keep()
			}
		}
		return nil
	}
}

func TestBackwardHooksEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(1)
		inputs := peer.Tensors{"x": torch.RandN(5, 4), "other": torch.RandN(5, 3)}
		want := peer.Run(t, "testdata/hooks.py", inputs)
		got := hookedRounds(inputs)
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name, value := range got {
			t.Run(name, func(t *testing.T) { torchtest.Equal(t, value, want[name]) })
			value.Close()
		}
	})
}

// hookedRounds is main in testdata/hooks.py.
func hookedRounds(inputs peer.Tensors) peer.Tensors {
	got, handles := peer.Tensors{}, []*nn.HookHandle(nil)
	hook := func(m any, fn nn.BackwardHook) { handles = append(handles, nn.RegisterFullBackwardHook(m, fn)) }
	torch.ManualSeed(0)
	net := nn.Sequential{nn.NewLinear(4, 3), nn.Sequential{nn.ReLU{}, nn.NewLinear(3, 3)}, nn.NewLinear(3, 2)}
	pair, cell := nn.NewBilinear(2, 3, 2), nn.NewLSTMCell(3, 2)
	hook(net[0], noter(got, "first"))
	hook(net[1], func(_ any, in, _ []torch.Tensor) []torch.Tensor { return tensors{in[0].MulScalar(2.0)} })
	hook(net[1], noter(got, "doubled"))
	handles = append(handles, nn.RegisterFullBackwardPreHook(net[2],
		func(_ any, out []torch.Tensor) []torch.Tensor { return tensors{out[0].AddScalar(1.0)} }))
	hook(net[2], noter(got, "last"))
	hook(pair, noter(got, "pair"))
	hook(pair, func(_ any, in, _ []torch.Tensor) []torch.Tensor {
		return tensors{in[0].AddScalar(1.0), in[1].MulScalar(3.0)}
	})
	hook(cell, func(m any, in, out []torch.Tensor) []torch.Tensor { return noter(got, "cell")(m, in[:1], out) })
	for round, needs := range []bool{false, true} {
		x, other := inputs["x"].Clone().SetRequiresGrad(needs), inputs["other"].Clone().SetRequiresGrad(true)
		pair.Forward(net.Forward(x), other).PowScalar(2).Sum().Backward()
		if needs {
			got["x"] = x.Grad()
		}
		got[fmt.Sprint("other ", round)] = other.Grad()
		for name, seen := range maps.Clone(got) {
			if slices.Contains([]string{"first", "doubled", "last", "pair"}, strings.Fields(name)[0]) {
				got[fmt.Sprint("seen ", round, " ", name)] = seen.Alias()
			}
		}
	}
	for name, p := range nn.NamedParameters(net) {
		got["grad "+name] = p.Grad()
	}
	x := inputs["other"].Clone().SetRequiresGrad(true)
	h, _ := cell.Forward(x)
	h.Sum().Backward()
	got["cell x"] = x.Grad()
	for _, h := range handles {
		h.Remove()
	}
	for _, m := range []any{net, pair, cell} {
		nn.Close(m)
	}
	return got
}

func TestBackwardHooks(t *testing.T) {
	torchtest.NoLeaks(t)
	d := newDouble()
	defer nn.Close(d)
	backward := func() { torch.Scope(func() { d.Forward(number(1).SetRequiresGrad(true)).Sum().Backward() }) }
	var log []string
	all := nn.RegisterModuleFullBackwardHook(func(m any, in, out []torch.Tensor) []torch.Tensor {
		log = append(log, fmt.Sprintf("%T %v %v", m, in[0].Float64(), out[0].Float64()))
		return nil
	})
	before := nn.RegisterModuleFullBackwardPreHook(func(m any, out []torch.Tensor) []torch.Tensor {
		log = append(log, fmt.Sprintf("before %T", m))
		return nil
	})
	backward()
	require.Equal(t, []string{"before *nn_test.double", "before *nn.Linear", "*nn.Linear 6 2", "*nn_test.double 6 1"}, log)
	torch.NoGrad(func() { torch.Scope(func() { d.Forward(number(1)) }) })
	all.Remove()
	before.Remove()

	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		hook nn.BackwardHook
		want string
	}{
		{"panic", func(any, []torch.Tensor, []torch.Tensor) []torch.Tensor { panic(broken) }, "broken"},
		{"number", func(any, []torch.Tensor, []torch.Tensor) []torch.Tensor { return tensors{} }, "got 0, but expected 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := nn.RegisterFullBackwardHook(d, c.hook)
			defer h.Remove()
			err := torch.Try(backward)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, c.name == "panic", errors.Is(err, broken))
		})
	}
	h := nn.RegisterFullBackwardHook(d, func(_ any, _, out []torch.Tensor) []torch.Tensor { return out })
	defer h.Remove()
	require.ErrorContains(t, torch.Try(func() { torch.Scope(func() { d.Forward(number(1)).Sum().Backward() }) }),
		"where no input requires gradient")
}
