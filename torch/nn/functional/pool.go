package functional

import (
	"github.com/libtorch-go/libtorch/torch"
)

// MaxPoolOptions are the rarer arguments of the max poolings.
type MaxPoolOptions struct {
	Stride   Size // default: the window's size
	Padding  Size // default 0
	Dilation Size // default 1
	CeilMode bool // round the size of the result up, not down
}

// MaxPool1d takes the largest value in every window of x [N, C, L].
func MaxPool1d(x torch.Tensor, window Size, o *MaxPoolOptions) torch.Tensor {
	v := or(o)
	return torch.MaxPool1d(x, Spread("max_pool1d window", window, 1), torch.MaxPool1dOptions{
		Stride: spreadOr("max_pool1d stride", v.Stride, 1, nil), Padding: spreadOr("max_pool1d padding", v.Padding, 1, nil),
		Dilation: spreadOr("max_pool1d dilation", v.Dilation, 1, nil), CeilMode: v.CeilMode})
}

// MaxPool2d takes the largest value in every window of x [N, C, H, W].
func MaxPool2d(x torch.Tensor, window Size, o *MaxPoolOptions) torch.Tensor {
	v := or(o)
	return torch.MaxPool2d(x, Spread("max_pool2d window", window, 2), torch.MaxPool2dOptions{
		Stride: spreadOr("max_pool2d stride", v.Stride, 2, nil), Padding: spreadOr("max_pool2d padding", v.Padding, 2, nil),
		Dilation: spreadOr("max_pool2d dilation", v.Dilation, 2, nil), CeilMode: v.CeilMode})
}

// MaxPool3d takes the largest value in every window of x [N, C, D, H, W].
func MaxPool3d(x torch.Tensor, window Size, o *MaxPoolOptions) torch.Tensor {
	v := or(o)
	return torch.MaxPool3d(x, Spread("max_pool3d window", window, 3), torch.MaxPool3dOptions{
		Stride: spreadOr("max_pool3d stride", v.Stride, 3, nil), Padding: spreadOr("max_pool3d padding", v.Padding, 3, nil),
		Dilation: spreadOr("max_pool3d dilation", v.Dilation, 3, nil), CeilMode: v.CeilMode})
}

// AvgPoolOptions are the rarer arguments of the average poolings.
type AvgPoolOptions struct {
	Stride          Size // default: the window's size
	Padding         Size // default 0
	CeilMode        bool // round the size of the result up, not down
	CountExcludePad bool // leave the padding out of the count
	DivisorOverride int  // divide by this instead of the count; not for AvgPool1d
}

func (o *AvgPoolOptions) divisor() *int {
	if o == nil || o.DivisorOverride == 0 {
		return nil
	}
	return &o.DivisorOverride
}

// AvgPool1d takes the mean of every window of x [N, C, L].
func AvgPool1d(x torch.Tensor, window Size, o *AvgPoolOptions) torch.Tensor {
	v := or(o)
	return torch.AvgPool1d(x, Spread("avg_pool1d window", window, 1), torch.AvgPool1dOptions{
		Stride: spreadOr("avg_pool1d stride", v.Stride, 1, nil), Padding: spreadOr("avg_pool1d padding", v.Padding, 1, nil),
		CeilMode: v.CeilMode, CountExcludePad: v.CountExcludePad})
}

// AvgPool2d takes the mean of every window of x [N, C, H, W].
func AvgPool2d(x torch.Tensor, window Size, o *AvgPoolOptions) torch.Tensor {
	v := or(o)
	return torch.AvgPool2d(x, Spread("avg_pool2d window", window, 2), torch.AvgPool2dOptions{
		Stride: spreadOr("avg_pool2d stride", v.Stride, 2, nil), Padding: spreadOr("avg_pool2d padding", v.Padding, 2, nil),
		CeilMode: v.CeilMode, CountExcludePad: v.CountExcludePad, DivisorOverride: o.divisor()})
}

// AvgPool3d takes the mean of every window of x [N, C, D, H, W].
func AvgPool3d(x torch.Tensor, window Size, o *AvgPoolOptions) torch.Tensor {
	v := or(o)
	return torch.AvgPool3d(x, Spread("avg_pool3d window", window, 3), torch.AvgPool3dOptions{
		Stride: spreadOr("avg_pool3d stride", v.Stride, 3, nil), Padding: spreadOr("avg_pool3d padding", v.Padding, 3, nil),
		CeilMode: v.CeilMode, CountExcludePad: v.CountExcludePad, DivisorOverride: o.divisor()})
}

// AdaptiveAvgPool1d averages x [N, C, L] down to the given length.
func AdaptiveAvgPool1d(x torch.Tensor, size Size) torch.Tensor {
	return torch.AdaptiveAvgPool1d(x, Spread("adaptive_avg_pool1d size", size, 1)...)
}

// AdaptiveAvgPool2d averages x [N, C, H, W] down to the given height and width.
func AdaptiveAvgPool2d(x torch.Tensor, size Size) torch.Tensor {
	return torch.AdaptiveAvgPool2d(x, Spread("adaptive_avg_pool2d size", size, 2)...)
}

// AdaptiveAvgPool3d averages x [N, C, D, H, W] down to the given depth, height and width.
func AdaptiveAvgPool3d(x torch.Tensor, size Size) torch.Tensor {
	return torch.AdaptiveAvgPool3d(x, Spread("adaptive_avg_pool3d size", size, 3)...)
}
