package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type tensorList = []torch.Tensor

// double is a module of the program that takes part.
type double struct {
	Inner *nn.Linear
	calls int
}

func (d *double) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(d, x, d.forward) }

func (d *double) forward(x torch.Tensor) torch.Tensor {
	d.calls++
	y := d.Inner.Forward(x)
	defer y.Close()
	return y.MulScalar(2.0)
}

func newDouble() *double {
	d := &double{Inner: nn.NewLinear(1, 1, nn.LinearOptions{NoBias: true})}
	torch.NoGrad(func() { d.Inner.Weight.FillInPlace(3) })
	return d
}

func number(v float64) torch.Tensor { return torch.Full([]int{1, 1}, v) }

func TestHooksRunInOrder(t *testing.T) {
	torchtest.NoLeaks(t)
	d := newDouble()
	net := nn.Sequential{d, nn.ReLU{}}
	var log []string
	pre := func(name string) nn.ForwardPreHook {
		return func(m any, x []torch.Tensor) []torch.Tensor {
			log = append(log, fmt.Sprintf("%s %T %v", name, m, x[0].Float64()))
			return nil
		}
	}
	post := func(name string) nn.ForwardHook {
		return func(m any, x, y []torch.Tensor) []torch.Tensor {
			log = append(log, fmt.Sprintf("%s %T %v %v", name, m, x[0].Float64(), y[0].Float64()))
			return nil
		}
	}
	handles := []*nn.HookHandle{
		nn.RegisterForwardHook(d, post("a")), nn.RegisterForwardPreHook(d, pre("b")), nn.RegisterForwardHook(d, post("c")),
		nn.RegisterForwardHook(net, post("net")), nn.RegisterModuleForwardHook(post("all")), nn.RegisterModuleForwardPreHook(pre("before all")),
	}
	run := func() []string {
		log = nil
		x := number(1)
		defer x.Close()
		y := net.Forward(x)
		defer y.Close()
		require.Equal(t, 6.0, y.Float64())
		return log
	}
	require.Equal(t, []string{"before all nn.Sequential 1", "before all *nn_test.double 1", "b *nn_test.double 1",
		"before all *nn.Linear 1", "all *nn.Linear 1 3",
		"all *nn_test.double 1 6", "a *nn_test.double 1 6", "c *nn_test.double 1 6", "before all nn.ReLU 6", "all nn.ReLU 6 6",
		"all nn.Sequential 1 6", "net nn.Sequential 1 6"}, run())
	for _, h := range handles[3:] {
		h.Remove()
	}
	handles[0].Remove()
	handles[0].Remove()
	require.Equal(t, []string{"b *nn_test.double 1", "c *nn_test.double 1 6"}, run())
	handles[1].Remove()
	handles[2].Remove()
	require.Empty(t, run())
}

// The results of hooks replace inputs and outputs; no tensor is left behind.
func TestHooksReplace(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.NoGrad(func() {
		d := newDouble()
		x := number(1)
		defer x.Close()
		plus := func(t torch.Tensor) []torch.Tensor { return tensorList{t.AddScalar(1.0)} }
		first := nn.RegisterForwardPreHook(d, func(_ any, x []torch.Tensor) []torch.Tensor { return plus(x[0]) })
		second := nn.RegisterForwardPreHook(d, func(_ any, x []torch.Tensor) []torch.Tensor { return plus(x[0]) })
		third := nn.RegisterForwardHook(d, func(_ any, x, y []torch.Tensor) []torch.Tensor {
			require.Equal(t, 3.0, x[0].Float64())
			return plus(y[0])
		})
		y := d.Forward(x)
		require.Equal(t, []float64{19, 1}, []float64{y.Float64(), x.Float64()})
		y.Close()
		fourth := nn.RegisterForwardHook(d, func(_ any, x, _ []torch.Tensor) []torch.Tensor { return x })
		y = d.Forward(x)
		require.Equal(t, 3.0, y.Float64(), "the input that a hook made is the output")
		y.Close()
		for _, h := range []*nn.HookHandle{first, second, third, fourth} {
			h.Remove()
		}
		nn.Close(d)
	})
}

func TestHooksOfSeveralTensors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		cell := nn.NewLSTMCell(1, 1)
		h := nn.RegisterForwardHook(cell, func(m any, x, y []torch.Tensor) []torch.Tensor {
			require.Same(t, cell, m)
			require.Equal(t, []bool{true, false, false}, []bool{x[0].Defined(), x[1].Defined(), x[2].Defined()})
			return tensorList{y[1], y[0]}
		})
		x := number(1)
		cell0, hidden0 := cell.Forward(x)
		h.Remove()
		hidden, c := cell.Forward(x)
		torchtest.Equal(t, hidden0, hidden)
		torchtest.Equal(t, cell0, c)
		h = nn.RegisterForwardHook(cell, func(any, []torch.Tensor, []torch.Tensor) []torch.Tensor { return tensorList{x} })
		defer h.Remove()
		require.EqualError(t, torch.Try(func() { cell.Forward(x) }),
			"torch: LSTMCell: forward_hook: a hook returned 1 tensors, expected 2 or nil")
		nn.Close(cell)
	})
}

// A module whose Forward is that of an embedded struct, the whole and a part of a Sequential,
// a field held by value at the same address: each has hooks of its own.
func TestWhoseHooks(t *testing.T) {
	torchtest.NoLeaks(t)
	pad, other := nn.NewZeroPad2d(0), nn.NewZeroPad2d(0)
	net := nn.Sequential{pad, other}
	outer := &struct{ First nn.Linear }{*newDouble().Inner}
	for name, m := range map[string]any{"pad": pad, "part": net[:1], "outer": outer, "inner": &outer.First, "whole": &net} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			h := nn.RegisterForwardHook(m, func(got any, _, _ []torch.Tensor) []torch.Tensor {
				require.Equal(t, m, got)
				calls++
				return nil
			})
			defer h.Remove()
			torch.Scope(func() {
				x := torch.Ones(1, 1, 1, 1)
				net.Forward(x)
				outer.First.Forward(x)
				net[:1].Forward(x)
			})
			require.Equal(t, map[string]int{"pad": 2, "part": 1, "outer": 0, "inner": 1, "whole": 1}[name], calls)
		})
	}
	for _, m := range []any{nn.ReLU{}, &nn.ReLU{}, nn.Tanh{}, &nn.Identity{}, nn.Sequential{}, (*nn.Linear)(nil)} {
		err := torch.Try(func() { nn.RegisterForwardHook(m, nil) })
		require.ErrorIs(t, err, torch.ErrType)
		require.ErrorContains(t, err, "cannot be told from others of its kind", "%T", m)
	}
	nn.Close(outer)
}

// A panic of a hook arrives at the caller as it is.
func TestHooksPanic(t *testing.T) {
	torchtest.NoLeaks(t)
	d := newDouble()
	x := number(1)
	defer x.Close()
	h := nn.RegisterForwardPreHook(d, func(any, []torch.Tensor) []torch.Tensor { panic("no") })
	require.PanicsWithValue(t, "no", func() { d.Forward(x) })
	h.Remove()
	require.Zero(t, d.calls)
	y := d.Forward(x)
	y.Close()
	require.Equal(t, 1, d.calls)
}

type nothing struct{ Weight torch.Tensor }

func (n *nothing) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(n, x, func(x torch.Tensor) torch.Tensor { return n.or(x) })
}

func (n *nothing) or(x torch.Tensor) torch.Tensor {
	if n.Weight.Defined() {
		return n.Weight
	}
	return x
}

func (n *nothing) Both(x, y torch.Tensor) (a, b torch.Tensor) {
	nn.HookedAll(n, []*torch.Tensor{&x, &y}, []*torch.Tensor{&a, &b}, func() { a, b = n.or(y), n.or(x) })
	return a, b
}

func TestWithoutHooksNothingIsAllocated(t *testing.T) {
	torchtest.NoLeaks(t)
	n, x := &nothing{}, number(1)
	defer x.Close()
	require.Zero(t, testing.AllocsPerRun(100, func() { n.Forward(x) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { n.Both(x, x) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { nn.Identity{}.Forward(x) }))
}

func BenchmarkWithoutHooks(b *testing.B) {
	n, x := &nothing{}, number(1)
	defer x.Close()
	for b.Loop() {
		n.Forward(x)
	}
}

func ExampleRegisterForwardHook() {
	net := nn.Sequential{nn.NewLinear(4, 3), nn.ReLU{}, nn.NewLinear(3, 2)}
	h := nn.RegisterForwardHook(net[0], func(m any, x, y []torch.Tensor) []torch.Tensor {
		fmt.Println(x[0].Shape(), "to", y[0].Shape())
		return nil
	})
	defer h.Remove()
	torch.Scope(func() { net.Forward(torch.Ones(5, 4)) })
	// Output: [5 4] to [5 3]
}
