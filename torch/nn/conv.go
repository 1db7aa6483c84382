package nn

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// Sizes of windows and steps: [Size] is a field of options, the others are arguments of
// constructors, for which anything but an integer or a list of the right length does not compile.
type (
	Size   = F.Size
	Size1d = F.Size1d
	Size2d = F.Size2d
	Size3d = F.Size3d
	Shape  = F.Shape
)

// ConvOptions are the rarer arguments of the convolutions, those of the functions.
type ConvOptions = F.ConvOptions

// Conv is what the convolutions of all dimensions have in common.
type Conv struct {
	Weight  torch.Tensor  // [out, in/groups, k...]
	Bias    torch.Tensor  // [out], or undefined
	Options F.ConvOptions // each size written out
}

// Conv1d slides kernels over the last dimension.
type Conv1d struct{ Conv }

// Conv2d slides kernels over the last two dimensions.
type Conv2d struct{ Conv }

// Conv3d slides kernels over the last three dimensions.
type Conv3d struct{ Conv }

// NewConv1d makes a convolution from in to out channels with kernels of length k. Weight and
// bias are drawn uniformly from ±1/√(in/groups·k).
func NewConv1d[S Size1d](in, out int, k S, opts ...ConvOptions) *Conv1d {
	return &Conv1d{newConv("conv1d", in, out, F.Spread("conv1d kernel", k, 1), option.One(opts))}
}

// NewConv2d makes a convolution from in to out channels with kernels of size k. Weight and
// bias are drawn uniformly from ±1/√(in/groups·k·k).
func NewConv2d[S Size2d](in, out int, k S, opts ...ConvOptions) *Conv2d {
	return &Conv2d{newConv("conv2d", in, out, F.Spread("conv2d kernel", k, 2), option.One(opts))}
}

// NewConv3d makes a convolution from in to out channels with kernels of size k. Weight and
// bias are drawn uniformly from ±1/√(in/groups·k·k·k).
func NewConv3d[S Size3d](in, out int, k S, opts ...ConvOptions) *Conv3d {
	return &Conv3d{newConv("conv3d", in, out, F.Spread("conv3d kernel", k, 3), option.One(opts))}
}

func newConv(op string, in, out int, k []int, v ConvOptions) Conv {
	groups := checkedGroups(op, in, out, v.Groups)
	c := Conv{Options: writtenOut(op, len(k), v)}
	create(func() {
		c.Weight = torch.Empty(append([]int{out, in / groups}, k...)...)
		nninit.KaimingUniform(c.Weight, nninit.KaimingOptions{A: math.Sqrt(5)})
		c.Weight.SetRequiresGrad(true)
		if !v.NoBias {
			c.Bias = newBias(out, c.Weight)
		}
	})
	return c
}

// checkedGroups is the number of groups of channels, of which 0 stands for one.
func checkedGroups(op string, in, out, groups int) int {
	if groups < 0 {
		torch.Throw(op, torch.KindValue, "groups must be a positive integer, got %d", groups)
	}
	groups = max(1, groups)
	if in%groups != 0 || out%groups != 0 {
		torch.Throw(op, torch.KindValue, "%d input and %d output channels cannot be divided into %d groups", in, out, groups)
	}
	return groups
}

// writtenOut are the options with all sizes written out, once for all calls of Forward. Whether
// there is a bias its tensor tells.
func writtenOut(op string, n int, o ConvOptions) ConvOptions {
	o.NoBias = false
	o.Stride = spreadOr(op+" stride", o.Stride, n, 1)
	o.Dilation = spreadOr(op+" dilation", o.Dilation, n, 1)
	if !slices.Contains([]string{"", "zeros", "reflect", "replicate", "circular"}, o.PaddingMode) {
		torch.Throw(op, torch.KindValue, "padding mode %q is not known; expected zeros, reflect, replicate or circular", o.PaddingMode)
	}
	mode, word := o.Padding.(string)
	switch {
	case !word:
		o.Padding = spreadOr(op+" padding", o.Padding, n, 0)
	case mode != "same" && mode != "valid":
		torch.Throw(op, torch.KindValue, "padding %q is not known; expected a number, \"same\" or \"valid\"", mode)
	case mode == "same" && slices.ContainsFunc(o.Stride.([]int), func(s int) bool { return s != 1 }):
		torch.Throw(op, torch.KindValue, "padding='same' is not supported for strided convolutions")
	}
	return o
}

func spreadOr(of string, s Size, n, def int) []int {
	if s == nil {
		s = def
	}
	return F.Spread(of, s, n)
}

// Forward maps [N, in, L] to [N, out, L'], or the same without N.
func (c *Conv1d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return F.Conv1d(x, c.Weight, c.Bias, c.Options) })
}

// Forward maps [N, in, H, W] to [N, out, H', W'], or the same without N.
func (c *Conv2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return F.Conv2d(x, c.Weight, c.Bias, c.Options) })
}

// Forward maps [N, in, D, H, W] to [N, out, D', H', W'], or the same without N.
func (c *Conv3d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return F.Conv3d(x, c.Weight, c.Bias, c.Options) })
}
