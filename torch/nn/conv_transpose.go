package nn

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// ConvTransposeOptions are the rarer arguments of the transposed convolutions, those of the
// functions.
type ConvTransposeOptions = F.ConvTransposeOptions

// ConvTranspose is what the transposed convolutions of all dimensions have in common.
type ConvTranspose struct {
	Weight  torch.Tensor           // [in, out/groups, k...]
	Bias    torch.Tensor           // [out], or undefined
	Options F.ConvTransposeOptions // each size written out
}

// ConvTranspose1d is the gradient of a [Conv1d] by its input, as a layer.
type ConvTranspose1d struct{ ConvTranspose }

// ConvTranspose2d is the gradient of a [Conv2d] by its input, as a layer.
type ConvTranspose2d struct{ ConvTranspose }

// ConvTranspose3d is the gradient of a [Conv3d] by its input, as a layer.
type ConvTranspose3d struct{ ConvTranspose }

// NewConvTranspose1d makes a layer from in to out channels with kernels of length k. Weight
// and bias are drawn uniformly from ±1/√(out/groups·k).
func NewConvTranspose1d[S Size1d](in, out int, k S, opts ...ConvTransposeOptions) *ConvTranspose1d {
	return &ConvTranspose1d{newConvTranspose("conv_transpose1d", in, out, k, 1, option.One(opts))}
}

// NewConvTranspose2d makes a layer from in to out channels with kernels of size k. Weight and
// bias are drawn uniformly from ±1/√(out/groups·k·k).
func NewConvTranspose2d[S Size2d](in, out int, k S, opts ...ConvTransposeOptions) *ConvTranspose2d {
	return &ConvTranspose2d{newConvTranspose("conv_transpose2d", in, out, k, 2, option.One(opts))}
}

// NewConvTranspose3d makes a layer from in to out channels with kernels of size k. Weight and
// bias are drawn uniformly from ±1/√(out/groups·k·k·k).
func NewConvTranspose3d[S Size3d](in, out int, k S, opts ...ConvTransposeOptions) *ConvTranspose3d {
	return &ConvTranspose3d{newConvTranspose("conv_transpose3d", in, out, k, 3, option.One(opts))}
}

func newConvTranspose(op string, in, out int, k Size, dims int, v ConvTransposeOptions) (c ConvTranspose) {
	groups := checkedGroups(op, in, out, v.Groups)
	c.Options = F.ConvTransposeOptions{Groups: groups,
		Stride:        spreadOr(op+" stride", v.Stride, dims, 1),
		Padding:       spreadOr(op+" padding", v.Padding, dims, 0),
		OutputPadding: spreadOr(op+" output padding", v.OutputPadding, dims, 0),
		Dilation:      spreadOr(op+" dilation", v.Dilation, dims, 1)}
	shape := append([]int{in, out / groups}, F.Spread(op+" kernel", k, dims)...)
	create(func() {
		c.Weight = nninit.KaimingUniform(torch.Empty(shape...), nninit.KaimingOptions{A: math.Sqrt(5)}).SetRequiresGrad(true)
		if !v.NoBias {
			c.Bias = newBias(out, c.Weight)
		}
	})
	return c
}

// fitting are the options for a result of the given size, with or without the first
// dimensions, of which there are 2 or 1: a stride leaves several sizes possible.
func (c *ConvTranspose) fitting(op string, x torch.Tensor, size []int) F.ConvTransposeOptions {
	o := c.Options
	dims := c.Weight.Dim() - 2
	first := max(x.Dim()-dims, 1)
	if len(size) == first+dims {
		size = size[first:]
	}
	if len(size) != dims {
		torch.Throw(op, torch.KindValue, "ConvTranspose%dD: for %dD input, output_size must have %d or %d elements (got %d)", dims,
			x.Dim(), dims, first+dims, len(size))
	}
	stride, padding, dilation := o.Stride.([]int), o.Padding.([]int), o.Dilation.([]int)
	least, most, extra := make([]int, dims), make([]int, dims), make([]int, dims)
	for d := range dims {
		least[d] = (x.Size(first+d)-1)*stride[d] - 2*padding[d] + dilation[d]*(c.Weight.Size(d+2)-1) + 1
		most[d] = least[d] + stride[d] - 1
		extra[d] = size[d] - least[d]
	}
	for d := range dims {
		if size[d] < least[d] || size[d] > most[d] {
			torch.Throw(op, torch.KindValue, "requested an output size of %s, but valid sizes range from %s to %s (for an input of %s)",
				pytext.List(size), pytext.List(least), pytext.List(most), pytext.Size(x.Shape()[2:]))
		}
	}
	o.OutputPadding = extra
	return o
}

// Forward maps [N, in, L] to [N, out, L'], or the same without N.
func (c *ConvTranspose1d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return F.ConvTranspose1d(x, c.Weight, c.Bias, c.Options) })
}

// ForwardTo is Forward to a result of the given size, [L'] or [N, out, L'], in the place of
// OutputPadding.
func (c *ConvTranspose1d) ForwardTo(x torch.Tensor, size []int) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor {
		return F.ConvTranspose1d(x, c.Weight, c.Bias, c.fitting("conv_transpose1d", x, size))
	})
}

// Forward maps [N, in, H, W] to [N, out, H', W'], or the same without N.
func (c *ConvTranspose2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return F.ConvTranspose2d(x, c.Weight, c.Bias, c.Options) })
}

// ForwardTo is Forward to a result of the given size, [H', W'] or [N, out, H', W'], in the
// place of OutputPadding.
func (c *ConvTranspose2d) ForwardTo(x torch.Tensor, size []int) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor {
		return F.ConvTranspose2d(x, c.Weight, c.Bias, c.fitting("conv_transpose2d", x, size))
	})
}

// Forward maps [N, in, D, H, W] to [N, out, D', H', W'], or the same without N.
func (c *ConvTranspose3d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return F.ConvTranspose3d(x, c.Weight, c.Bias, c.Options) })
}

// ForwardTo is Forward to a result of the given size, [D', H', W'] or [N, out, D', H', W'],
// in the place of OutputPadding.
func (c *ConvTranspose3d) ForwardTo(x torch.Tensor, size []int) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor {
		return F.ConvTranspose3d(x, c.Weight, c.Bias, c.fitting("conv_transpose3d", x, size))
	})
}
