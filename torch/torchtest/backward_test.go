package torchtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
)

type backward = func(outputs, inputs []torch.Tensor, opts ...torch.GradOptions) []torch.Tensor

// bent is a backward pass whose gradients go through fn.
func bent(fn func(g torch.Tensor) torch.Tensor) backward {
	return func(outputs, inputs []torch.Tensor, opts ...torch.GradOptions) []torch.Tensor {
		list := torch.Grad(outputs, inputs, opts...)
		for i, g := range list {
			if g.Defined() {
				list[i] = fn(g)
			}
		}
		return list
	}
}

// inventive is a backward pass from two outputs that makes up the gradient of the first
// input where there is none, and the second input has one or has none either.
func inventive(second bool, invent func(x torch.Tensor) torch.Tensor) backward {
	return func(outputs, inputs []torch.Tensor, opts ...torch.GradOptions) []torch.Tensor {
		list := torch.Grad(outputs, inputs, opts...)
		if len(outputs) == 2 && !list[0].Defined() && list[1].Defined() == second {
			list[0] = invent(inputs[0])
		}
		return list
	}
}

// No operator has a backward pass like these, so they take the place of torch.Grad.
func TestGradCheckLooksAtTheBackwardPass(t *testing.T) {
	NoLeaks(t)
	passes := 0
	noisy := bent(func(g torch.Tensor) torch.Tensor { passes++; return g.AddScalar(float64(passes) * 1e-9) })
	shifted := bent(func(g torch.Tensor) torch.Tensor { return g.AddScalar(1e-9) })
	ones := func(x torch.Tensor) torch.Tensor { return torch.OnesLike(x) }
	fails := func(torch.Tensor) torch.Tensor {
		torch.Throw("sin", torch.KindValue, "no gradient")
		return torch.Tensor{}
	}
	cases := []struct {
		name     string
		backward backward
		opts     GradCheckOptions
		text     string
	}{
		{"good", torch.Grad, GradCheckOptions{}, ""},
		{"noise", noisy, GradCheckOptions{}, "two backward passes from output 0 give gradients of input 0 that are apart by "},
		{"noise tolerated", noisy, GradCheckOptions{NonDetTol: 1e-8}, "where gradients of outputs are zero, that of input 0 has a "},
		{"something from nothing", shifted, GradCheckOptions{}, "where gradients of outputs are zero, that of input 0 has a 1e-09"},
		{"undefined", inventive(false, ones), GradCheckOptions{}, "where gradients of outputs are undefined, that of input 0 has a 1"},
		{"one undefined", inventive(true, ones), GradCheckOptions{}, "where gradients of outputs are zero or undefined, that of input 0 has a 1"},
		{"refused", inventive(false, fails), GradCheckOptions{},
			"backward fails where gradients of outputs are undefined: torch: sin: no gradient"},
		{"skipped", inventive(false, fails), GradCheckOptions{SkipUndefined: true}, ""},
	}
	for _, c := range cases {
		if strings.Contains(c.text, "undefined") && !canMute() {
			continue
		}
		for _, fast := range []bool{false, true} {
			torch.Scope(func() {
				passes, c.opts.Fast = 0, fast
				x, y := torch.FromSlice([]float64{1, 2}).SetRequiresGrad(true), torch.FromSlice([]float64{3}).SetRequiresGrad(true)
				g := &gradCheck{inputs: []torch.Tensor{x, y}, backward: c.backward}
				g.fn = func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Sin(), in[1].Cos()} }
				err := g.check(c.opts)
				if c.text == "" {
					require.NoError(t, err, c.name)
				} else {
					require.ErrorContains(t, err, c.text, c.name)
				}
			})
		}
	}
}

// A muted output sends an undefined gradient, not zeros: the node of one that is muted
// does not run its formula, so NaNs in it do not show.
func TestMute(t *testing.T) {
	if !canMute() {
		t.Skip("gradients cannot be left undefined in libtorch " + torch.Version())
	}
	NoLeaks(t)
	for _, d := range []torch.DType{torch.Float32, torch.Float64, torch.Complex128} {
		for _, shape := range [][]int{{}, {3}, {2, 0}, {2, 3}} {
			torch.Scope(func() {
				x := torch.TensorOptions{DType: d, RequiresGrad: true}.Zeros(shape...)
				in := []torch.Tensor{x}
				root := mute(x.Log()) // 0 * 1/0 would be NaN
				got := torch.Grad([]torch.Tensor{root}, in, torch.GradOptions{GradOutputs: []torch.Tensor{torch.OnesLike(root)}, AllowUnused: true})
				require.False(t, got[0].Defined(), "%v%v", d, shape)
			})
		}
	}
}
