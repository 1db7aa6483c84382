package functional

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// ConvOptions are the rarer arguments of the convolutions.
type ConvOptions struct {
	Stride   Size // step of the kernel; default 1
	Padding  Size // zeros added on both sides; default 0; also "same" or "valid"
	Dilation Size // distance between the kernel's elements; default 1
	Groups   int  // blocks of channels that do not see each other; default 1
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
	v := option.One(opts)
	stride, dilation := spreadOr("conv1d stride", v.Stride, 1, nil), spreadOr("conv1d dilation", v.Dilation, 1, nil)
	if mode, ok := v.Padding.(string); ok {
		return aten.Conv1dPadding(x, weight, aten.Conv1dPaddingOptions{Bias: bias, Stride: stride, Padding: mode, Dilation: dilation, Groups: v.groups()})
	}
	padding := spreadOr("conv1d padding", v.Padding, 1, nil)
	return aten.Conv1d(x, weight, aten.Conv1dOptions{Bias: bias, Stride: stride, Padding: padding, Dilation: dilation, Groups: v.groups()})
}

// Conv2d slides the kernels of weight [out, in/groups, kH, kW] over x [N, in, H, W] or
// [in, H, W]. bias is [out] or undefined.
func Conv2d(x, weight, bias torch.Tensor, opts ...ConvOptions) torch.Tensor {
	v := option.One(opts)
	stride, dilation := spreadOr("conv2d stride", v.Stride, 2, nil), spreadOr("conv2d dilation", v.Dilation, 2, nil)
	if mode, ok := v.Padding.(string); ok {
		return aten.Conv2dPadding(x, weight, aten.Conv2dPaddingOptions{Bias: bias, Stride: stride, Padding: mode, Dilation: dilation, Groups: v.groups()})
	}
	padding := spreadOr("conv2d padding", v.Padding, 2, nil)
	return aten.Conv2d(x, weight, aten.Conv2dOptions{Bias: bias, Stride: stride, Padding: padding, Dilation: dilation, Groups: v.groups()})
}

// Conv3d slides the kernels of weight [out, in/groups, kD, kH, kW] over x [N, in, D, H, W]
// or [in, D, H, W]. bias is [out] or undefined.
func Conv3d(x, weight, bias torch.Tensor, opts ...ConvOptions) torch.Tensor {
	v := option.One(opts)
	stride, dilation := spreadOr("conv3d stride", v.Stride, 3, nil), spreadOr("conv3d dilation", v.Dilation, 3, nil)
	if mode, ok := v.Padding.(string); ok {
		return aten.Conv3dPadding(x, weight, aten.Conv3dPaddingOptions{Bias: bias, Stride: stride, Padding: mode, Dilation: dilation, Groups: v.groups()})
	}
	padding := spreadOr("conv3d padding", v.Padding, 3, nil)
	return aten.Conv3d(x, weight, aten.Conv3dOptions{Bias: bias, Stride: stride, Padding: padding, Dilation: dilation, Groups: v.groups()})
}

// ConvTransposeOptions are the rarer arguments of the transposed convolutions.
type ConvTransposeOptions struct {
	Stride        Size // distance of the kernel's copies in the result; default 1
	Padding       Size // cut off the result on both sides; default 0
	OutputPadding Size // added to the result on the far side; default 0
	Dilation      Size // distance between the kernel's elements; default 1
	Groups        int  // blocks of channels that do not see each other; default 1
}

// spread writes the sizes of a transposed convolution in n dimensions out.
func (v ConvTransposeOptions) spread(op string, n int) (stride, padding, outputPadding, dilation []int, groups *int) {
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
	s, p, e, d, g := o.spread("conv_transpose1d", 1)
	return aten.ConvTranspose1d(x, weight, aten.ConvTranspose1dOptions{Bias: bias, Stride: s, Padding: p, OutputPadding: e, Groups: g, Dilation: d})
}

// ConvTranspose2d adds up the kernels of weight [in, out/groups, kH, kW], one for each
// element of x [N, in, H, W] or [in, H, W]: the gradient of [Conv2d]. bias is [out] or
// undefined.
func ConvTranspose2d(x, weight, bias torch.Tensor, opts ...ConvTransposeOptions) torch.Tensor {
	o := option.One(opts)
	s, p, e, d, g := o.spread("conv_transpose2d", 2)
	return aten.ConvTranspose2d(x, weight, aten.ConvTranspose2dOptions{Bias: bias, Stride: s, Padding: p, OutputPadding: e, Groups: g, Dilation: d})
}

// ConvTranspose3d adds up the kernels of weight [in, out/groups, kD, kH, kW], one for each
// element of x [N, in, D, H, W] or [in, D, H, W]: the gradient of [Conv3d]. bias is [out]
// or undefined.
func ConvTranspose3d(x, weight, bias torch.Tensor, opts ...ConvTransposeOptions) torch.Tensor {
	o := option.One(opts)
	s, p, e, d, g := o.spread("conv_transpose3d", 3)
	return aten.ConvTranspose3d(x, weight, aten.ConvTranspose3dOptions{Bias: bias, Stride: s, Padding: p, OutputPadding: e, Groups: g, Dilation: d})
}

// ConvTBC is a convolution in one dimension over x [L, N, in]: weight is [k, in, out], bias
// [out], and pad zeros are added on both sides.
func ConvTBC(x, weight, bias torch.Tensor, pad int) torch.Tensor {
	return aten.ConvTBC(x, weight, bias, pad)
}
