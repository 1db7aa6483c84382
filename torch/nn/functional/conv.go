package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// ConvOptions are the rarer arguments of the convolutions, functions and layers.
type ConvOptions struct {
	Stride      Size   // step of the kernel; default 1
	Padding     Size   // added on both sides; default 0; also "same" or "valid"
	Dilation    Size   // distance between the kernel's elements; default 1
	Groups      int    // blocks of channels that do not see each other; default 1
	NoBias      bool   // a layer has no bias; a function is given an undefined one
	PaddingMode string // what is added: "zeros" (default), "reflect", "replicate" or "circular"
}

// refuseBias tells that there is a bias where the options say that there is none.
func refuseBias(op string, noBias bool, bias torch.Tensor) {
	if noBias && bias.Defined() {
		torch.Throw(op, torch.KindValue, "there is a bias, but NoBias says that there is none")
	}
}

// around is what a padding mode other than zeros puts around an input for kernels of size k:
// before and after, the last dimension first. It is nil for zeros, which the operators add.
func (o *ConvOptions) around(op string, k []int) (sides []int) {
	switch o.PaddingMode {
	case "", "zeros":
		return nil
	case "reflect", "replicate", "circular":
	default:
		torch.Throw(op, torch.KindValue, "padding mode %q is not known; expected zeros, reflect, replicate or circular", o.PaddingMode)
	}
	n := len(k)
	dilation := spreadOr(op+" dilation", o.Dilation, n, slices.Repeat([]int{1}, n))
	same := o.Padding == "same"
	var padding []int
	if _, word := o.Padding.(string); !word {
		padding = spreadOr(op+" padding", o.Padding, n, make([]int, n))
	}
	for d := n - 1; d >= 0; d-- {
		total := 0
		if same {
			total = dilation[d] * (k[d] - 1)
		} else if padding != nil {
			total = 2 * padding[d]
		}
		sides = append(sides, total/2, total-total/2)
	}
	return sides
}

// prepared checks the options of a call, and gives an input that has its border, with the
// options for what is left to do.
func (o ConvOptions) prepared(op string, n int, x, weight, bias torch.Tensor) (bordered torch.Tensor, left ConvOptions) {
	refuseBias(op, o.NoBias, bias)
	if o.PaddingMode == "" || weight.Dim() != n+2 { // which the operator refuses
		return x, o
	}
	sides := o.around(op, weight.Shape()[2:])
	if sides == nil {
		return x, o
	}
	o.Padding = nil
	return aten.Pad(x, sides, aten.PadOptions{Mode: o.PaddingMode}), o
}

func (o *ConvOptions) groups() *int {
	if o.Groups == 0 {
		return nil
	}
	return &o.Groups
}

// Conv1d slides the kernels of weight [out, in/groups, k] over x [N, in, L] or [in, L].
// bias is [out] or undefined.
func Conv1d(x, weight, bias torch.Tensor, opts ...ConvOptions) torch.Tensor {
	given := x
	x, v := option.One(opts).prepared("conv1d", 1, x, weight, bias)
	if x != given {
		defer x.Close()
	}
	stride, dilation := spreadOr("conv1d stride", v.Stride, 1, nil), spreadOr("conv1d dilation", v.Dilation, 1, nil)
	if mode, ok := v.Padding.(string); ok {
		return aten.Conv1dPadding(x, weight,
			aten.Conv1dPaddingOptions{Bias: bias, Stride: stride, Padding: mode, Dilation: dilation, Groups: v.groups()})
	}
	padding := spreadOr("conv1d padding", v.Padding, 1, nil)
	return aten.Conv1d(x, weight, aten.Conv1dOptions{Bias: bias, Stride: stride, Padding: padding, Dilation: dilation, Groups: v.groups()})
}

// Conv2d slides the kernels of weight [out, in/groups, kH, kW] over x [N, in, H, W] or
// [in, H, W]. bias is [out] or undefined.
func Conv2d(x, weight, bias torch.Tensor, opts ...ConvOptions) torch.Tensor {
	given := x
	x, v := option.One(opts).prepared("conv2d", 2, x, weight, bias)
	if x != given {
		defer x.Close()
	}
	stride, dilation := spreadOr("conv2d stride", v.Stride, 2, nil), spreadOr("conv2d dilation", v.Dilation, 2, nil)
	if mode, ok := v.Padding.(string); ok {
		return aten.Conv2dPadding(x, weight,
			aten.Conv2dPaddingOptions{Bias: bias, Stride: stride, Padding: mode, Dilation: dilation, Groups: v.groups()})
	}
	padding := spreadOr("conv2d padding", v.Padding, 2, nil)
	return aten.Conv2d(x, weight, aten.Conv2dOptions{Bias: bias, Stride: stride, Padding: padding, Dilation: dilation, Groups: v.groups()})
}

// Conv3d slides the kernels of weight [out, in/groups, kD, kH, kW] over x [N, in, D, H, W]
// or [in, D, H, W]. bias is [out] or undefined.
func Conv3d(x, weight, bias torch.Tensor, opts ...ConvOptions) torch.Tensor {
	given := x
	x, v := option.One(opts).prepared("conv3d", 3, x, weight, bias)
	if x != given {
		defer x.Close()
	}
	stride, dilation := spreadOr("conv3d stride", v.Stride, 3, nil), spreadOr("conv3d dilation", v.Dilation, 3, nil)
	if mode, ok := v.Padding.(string); ok {
		return aten.Conv3dPadding(x, weight,
			aten.Conv3dPaddingOptions{Bias: bias, Stride: stride, Padding: mode, Dilation: dilation, Groups: v.groups()})
	}
	padding := spreadOr("conv3d padding", v.Padding, 3, nil)
	return aten.Conv3d(x, weight, aten.Conv3dOptions{Bias: bias, Stride: stride, Padding: padding, Dilation: dilation, Groups: v.groups()})
}

// ConvTransposeOptions are the rarer arguments of the transposed convolutions,
// functions and layers.
type ConvTransposeOptions struct {
	Stride        Size // distance of the kernel's copies in the result; default 1
	Padding       Size // cut off the result on both sides; default 0
	OutputPadding Size // added to the result on the far side; default 0
	Dilation      Size // distance between the kernel's elements; default 1
	Groups        int  // blocks of channels that do not see each other; default 1
	NoBias        bool // a layer has no bias; a function is given an undefined one
}

// spread writes the sizes of a transposed convolution in n dimensions out.
func (v ConvTransposeOptions) spread(op string, n int, bias torch.Tensor) (stride, padding, outputPadding, dilation []int, groups *int) {
	refuseBias(op, v.NoBias, bias)
	if v.Groups != 0 {
		groups = &v.Groups
	}
	return spreadOr(op+" stride", v.Stride, n, nil), spreadOr(op+" padding", v.Padding, n, nil),
		spreadOr(op+" output padding", v.OutputPadding, n, nil), spreadOr(op+" dilation", v.Dilation, n, nil), groups
}

// ConvTranspose1d adds up the kernels of weight [in, out/groups, k], one for each element
// of x [N, in, L] or [in, L]: the gradient of [Conv1d]. bias is [out] or undefined.
func ConvTranspose1d(x, weight, bias torch.Tensor, opts ...ConvTransposeOptions) torch.Tensor {
	o := option.One(opts)
	s, p, e, d, g := o.spread("conv_transpose1d", 1, bias)
	return aten.ConvTranspose1d(x, weight,
		aten.ConvTranspose1dOptions{Bias: bias, Stride: s, Padding: p, OutputPadding: e, Groups: g, Dilation: d})
}

// ConvTranspose2d adds up the kernels of weight [in, out/groups, kH, kW], one for each
// element of x [N, in, H, W] or [in, H, W]: the gradient of [Conv2d]. bias is [out] or
// undefined.
func ConvTranspose2d(x, weight, bias torch.Tensor, opts ...ConvTransposeOptions) torch.Tensor {
	o := option.One(opts)
	s, p, e, d, g := o.spread("conv_transpose2d", 2, bias)
	return aten.ConvTranspose2d(x, weight,
		aten.ConvTranspose2dOptions{Bias: bias, Stride: s, Padding: p, OutputPadding: e, Groups: g, Dilation: d})
}

// ConvTranspose3d adds up the kernels of weight [in, out/groups, kD, kH, kW], one for each
// element of x [N, in, D, H, W] or [in, D, H, W]: the gradient of [Conv3d]. bias is [out]
// or undefined.
func ConvTranspose3d(x, weight, bias torch.Tensor, opts ...ConvTransposeOptions) torch.Tensor {
	o := option.One(opts)
	s, p, e, d, g := o.spread("conv_transpose3d", 3, bias)
	return aten.ConvTranspose3d(x, weight,
		aten.ConvTranspose3dOptions{Bias: bias, Stride: s, Padding: p, OutputPadding: e, Groups: g, Dilation: d})
}

// ConvTBC is a convolution in one dimension over x [L, N, in]: weight is [k, in, out], bias
// [out], and pad zeros are added on both sides.
func ConvTBC(x, weight, bias torch.Tensor, pad int) torch.Tensor {
	return aten.ConvTBC(x, weight, bias, pad)
}
