package nn

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// Size is the size of a window or a step in each of the spatial dimensions: an int, the
// same for all, or a []int with one for each.
type Size = F.Size

// ConvOptions are the rarer arguments of the convolutions.
type ConvOptions struct {
	Stride      Size   // step of the kernel; default 1
	Padding     Size   // added on both sides; default 0; also "same" or "valid"
	Dilation    Size   // distance between the kernel's elements; default 1
	Groups      int    // blocks of channels that do not see each other; default 1
	NoBias      bool   //
	PaddingMode string // "zeros" (default), "reflect", "replicate" or "circular"
}

// The convolutions share their options.
type (
	Conv1dOptions = ConvOptions
	Conv2dOptions = ConvOptions
	Conv3dOptions = ConvOptions
)

// Conv is what the convolutions of all dimensions have in common.
type Conv struct {
	Weight  torch.Tensor  // [out, in/groups, k...]
	Bias    torch.Tensor  // [out], or undefined
	Options F.ConvOptions // each size written out
	Border  Border
}

// Border is what a padding mode other than zeros puts around the input before the
// convolution.
type Border struct {
	Mode string // "reflect", "replicate" or "circular"
	Size []int  // before and after, the last dimension first; nil where there is no border
}

// Conv1d slides kernels over the last dimension.
type Conv1d struct{ Conv }

// Conv2d slides kernels over the last two dimensions.
type Conv2d struct{ Conv }

// Conv3d slides kernels over the last three dimensions.
type Conv3d struct{ Conv }

// NewConv1d makes a convolution from in to out channels with kernels of length k. Weight and
// bias are drawn uniformly from ±1/√(in/groups·k).
func NewConv1d(in, out int, k Size, opts ...Conv1dOptions) *Conv1d {
	return &Conv1d{newConv("conv1d", in, out, F.Spread("conv1d kernel", k, 1), option.One(opts))}
}

// NewConv2d makes a convolution from in to out channels with kernels of size k. Weight and
// bias are drawn uniformly from ±1/√(in/groups·k·k).
func NewConv2d(in, out int, k Size, opts ...Conv2dOptions) *Conv2d {
	return &Conv2d{newConv("conv2d", in, out, F.Spread("conv2d kernel", k, 2), option.One(opts))}
}

// NewConv3d makes a convolution from in to out channels with kernels of size k. Weight and
// bias are drawn uniformly from ±1/√(in/groups·k·k·k).
func NewConv3d(in, out int, k Size, opts ...Conv3dOptions) *Conv3d {
	return &Conv3d{newConv("conv3d", in, out, F.Spread("conv3d kernel", k, 3), option.One(opts))}
}

func newConv(op string, in, out int, k []int, v ConvOptions) Conv {
	groups := checkedGroups(op, in, out, v.Groups)
	c := Conv{Options: v.spread(op, len(k)), Border: v.border(op, k)}
	if c.Border.Size != nil {
		c.Options.Padding = nil
	}
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

// spread writes the sizes out, once for all calls of Forward.
func (o ConvOptions) spread(op string, n int) F.ConvOptions {
	v := F.ConvOptions{Groups: o.Groups}
	v.Stride = spreadOr(op+" stride", o.Stride, n, 1)
	v.Dilation = spreadOr(op+" dilation", o.Dilation, n, 1)
	switch mode := o.Padding.(type) {
	case string:
		if mode != "same" && mode != "valid" {
			torch.Throw(op, torch.KindValue, "padding %q is not known; expected a number, \"same\" or \"valid\"", mode)
		}
		if mode == "same" && slices.ContainsFunc(v.Stride.([]int), func(s int) bool { return s != 1 }) {
			torch.Throw(op, torch.KindValue, "padding='same' is not supported for strided convolutions")
		}
		v.Padding = mode
	default:
		v.Padding = spreadOr(op+" padding", o.Padding, n, 0)
	}
	return v
}

func (o ConvOptions) border(op string, k []int) (b Border) {
	switch o.PaddingMode {
	case "", "zeros":
		return b
	case "reflect", "replicate", "circular":
	default:
		torch.Throw(op, torch.KindValue, "padding mode %q is not known; expected zeros, reflect, replicate or circular", o.PaddingMode)
	}
	v := o.spread(op, len(k))
	b.Mode = o.PaddingMode
	for d := len(k) - 1; d >= 0; d-- {
		switch padding := v.Padding.(type) {
		case []int:
			b.Size = append(b.Size, padding[d], padding[d])
		case string:
			total := 0
			if padding == "same" {
				total = v.Dilation.([]int)[d] * (k[d] - 1)
			}
			b.Size = append(b.Size, total/2, total-total/2)
		}
	}
	return b
}

func spreadOr(of string, s Size, n, def int) []int {
	if s == nil {
		s = def
	}
	return F.Spread(of, s, n)
}

type convolution func(x, weight, bias torch.Tensor, o ...F.ConvOptions) torch.Tensor

func (c *Conv) forward(x torch.Tensor, convolve convolution) torch.Tensor {
	if c.Border.Size == nil {
		return convolve(x, c.Weight, c.Bias, c.Options)
	}
	padded := aten.Pad(x, c.Border.Size, aten.PadOptions{Mode: c.Border.Mode})
	defer padded.Close()
	return convolve(padded, c.Weight, c.Bias, c.Options)
}

// Forward maps [N, in, L] to [N, out, L'], or the same without N.
func (c *Conv1d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return c.forward(x, F.Conv1d) })
}

// Forward maps [N, in, H, W] to [N, out, H', W'], or the same without N.
func (c *Conv2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return c.forward(x, F.Conv2d) })
}

// Forward maps [N, in, D, H, W] to [N, out, D', H', W'], or the same without N.
func (c *Conv3d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return c.forward(x, F.Conv3d) })
}
