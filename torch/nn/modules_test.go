package nn_test

import (
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

// moduleCase is a module in Python and in Go.
type moduleCase struct {
	python  string                                 // the module
	call    string                                 // of it, m, with the inputs x; default m(*x)
	make    func() any                             //
	forward func(m any, x tensors) tensors         // default: that of a Layer
	inputs  [][]int                                // the shapes
	input   func(i int, shape ...int) torch.Tensor // default: normally distributed
}

type tensors = []torch.Tensor

// equalPython compares initial values, results, gradients, the state after a step and the
// names in the state dict, in training and in evaluation.
func equalPython(t *testing.T, cases []moduleCase) {
	torchtest.NoLeaks(t)
	inputs, args := peer.Tensors{}, []string{}
	torch.ManualSeed(1000)
	for seed, c := range cases {
		for i, shape := range c.inputs {
			draw := c.input
			if draw == nil {
				draw = func(_ int, shape ...int) torch.Tensor { return torch.RandN(shape...) }
			}
			inputs[inputName(seed, i)] = draw(i, shape...)
		}
		if c.call == "" {
			c.call = "m(*x)"
		}
		args = append(args, c.python+"\n"+c.call)
	}
	want := peer.Run(t, "testdata/modules.py", inputs, args...)
	for _, mode := range []string{"train", "eval"} {
		for seed, c := range cases {
			t.Run(mode+"/"+c.python+c.call, func(t *testing.T) {
				torch.Scope(func() {
					torch.ManualSeed(uint64(seed))
					m := c.make()
					defer nn.Close(m)
					if mode == "eval" {
						nn.Eval(m)
					}
					var x tensors
					for i := range c.inputs {
						x = append(x, inputs[inputName(seed, i)].Clone())
					}
					for name, got := range runModule(c, m, x) {
						name = fmt.Sprint(mode, "/", seed, "/", name)
						require.Contains(t, want, name)
						t.Log(name)
						torchtest.Equal(t, got, want[name])
						want[name].Close()
						delete(want, name)
					}
				})
			})
		}
	}
	if !t.Failed() {
		require.Empty(t, slices.Collect(maps.Keys(want)), "results that Python alone has")
	}
}

func inputName(seed, i int) string { return fmt.Sprintf("%03d/%d", seed, i) }

// runModule does what run does in testdata/modules.py.
func runModule(c moduleCase, m any, x tensors) peer.Tensors {
	got := peer.Tensors{}
	var names []string
	for name, value := range nn.StateDict(m) {
		names = append(names, name)
		got["initial "+name] = value.Clone()
	}
	for _, t := range x {
		if t.IsFloatingPoint() {
			t.SetRequiresGrad(true)
		}
	}
	var y tensors
	if c.forward != nil {
		y = c.forward(m, x)
	} else {
		y = tensors{m.(nn.Layer).Forward(x[0])}
	}
	loss := torch.FromValue(float32(0))
	for i, t := range y {
		got[fmt.Sprint("y", i)] = t.Clone()
		if t.RequiresGrad() {
			loss = loss.Add(t.Mul(t).Sum())
		}
	}
	if loss.RequiresGrad() {
		loss.Backward()
	}
	for i, t := range x {
		if grad := t.Grad(); grad.Defined() {
			got[fmt.Sprint("dx", i)] = grad
		}
	}
	for name, value := range nn.NamedParameters(m) {
		if grad := value.Grad(); grad.Defined() {
			got["grad "+name] = grad
		}
	}
	for name, value := range nn.StateDict(m) {
		got["final "+name] = value
	}
	got["state dict"] = torch.FromSlice([]byte(strings.Join(names, "\n")))
	return got
}
