package functional

import (
	"math"
	"reflect"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// MaxPoolOptions are the rarer arguments of the max poolings.
type MaxPoolOptions struct {
	Stride   Size // default: the window's size
	Padding  Size // default 0
	Dilation Size // default 1
	CeilMode bool // round the size of the result up, not down
}

// MaxPool1d takes the largest value in every window of x [N, C, L].
func MaxPool1d[S Size1d](x torch.Tensor, window S, opts ...MaxPoolOptions) torch.Tensor {
	o := option.One(opts)
	w, s, p, d := o.spread("max_pool1d", window, 1)
	return aten.MaxPool1d(x, w, aten.MaxPool1dOptions{Stride: s, Padding: p, Dilation: d, CeilMode: o.CeilMode})
}

// MaxPool2d takes the largest value in every window of x [N, C, H, W].
func MaxPool2d[S Size2d](x torch.Tensor, window S, opts ...MaxPoolOptions) torch.Tensor {
	o := option.One(opts)
	w, s, p, d := o.spread("max_pool2d", window, 2)
	return aten.MaxPool2d(x, w, aten.MaxPool2dOptions{Stride: s, Padding: p, Dilation: d, CeilMode: o.CeilMode})
}

// MaxPool3d takes the largest value in every window of x [N, C, D, H, W].
func MaxPool3d[S Size3d](x torch.Tensor, window S, opts ...MaxPoolOptions) torch.Tensor {
	o := option.One(opts)
	w, s, p, d := o.spread("max_pool3d", window, 3)
	return aten.MaxPool3d(x, w, aten.MaxPool3dOptions{Stride: s, Padding: p, Dilation: d, CeilMode: o.CeilMode})
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
	if o.DivisorOverride == 0 {
		return nil
	}
	return &o.DivisorOverride
}

// AvgPool1d takes the mean of every window of x [N, C, L].
func AvgPool1d[S Size1d](x torch.Tensor, window S, opts ...AvgPoolOptions) torch.Tensor {
	v := option.One(opts)
	return aten.AvgPool1d(x, Spread("avg_pool1d window", window, 1), aten.AvgPool1dOptions{
		Stride: spreadOr("avg_pool1d stride", v.Stride, 1, nil), Padding: spreadOr("avg_pool1d padding", v.Padding, 1, nil),
		CeilMode: v.CeilMode, CountExcludePad: v.CountExcludePad})
}

// AvgPool2d takes the mean of every window of x [N, C, H, W].
func AvgPool2d[S Size2d](x torch.Tensor, window S, opts ...AvgPoolOptions) torch.Tensor {
	v := option.One(opts)
	return aten.AvgPool2d(x, Spread("avg_pool2d window", window, 2), aten.AvgPool2dOptions{
		Stride: spreadOr("avg_pool2d stride", v.Stride, 2, nil), Padding: spreadOr("avg_pool2d padding", v.Padding, 2, nil),
		CeilMode: v.CeilMode, CountExcludePad: v.CountExcludePad, DivisorOverride: v.divisor()})
}

// AvgPool3d takes the mean of every window of x [N, C, D, H, W].
func AvgPool3d[S Size3d](x torch.Tensor, window S, opts ...AvgPoolOptions) torch.Tensor {
	v := option.One(opts)
	return aten.AvgPool3d(x, Spread("avg_pool3d window", window, 3), aten.AvgPool3dOptions{
		Stride: spreadOr("avg_pool3d stride", v.Stride, 3, nil), Padding: spreadOr("avg_pool3d padding", v.Padding, 3, nil),
		CeilMode: v.CeilMode, CountExcludePad: v.CountExcludePad, DivisorOverride: v.divisor()})
}

// LPPoolOptions are the rarer arguments of the power-average poolings.
type LPPoolOptions struct {
	Stride   Size // default: the window's size
	CeilMode bool // round the size of the result up, not down
}

// LPPool1d is the p-norm of every window of x [N, C, L] or [C, L]: the sum of x^p, then
// its p-th root. An infinite p is the maximum of |x|, a negatively infinite one the
// minimum; 0 is refused.
func LPPool1d[S Size1d](x torch.Tensor, p float64, window S, opts ...LPPoolOptions) torch.Tensor {
	return lpPool("lp_pool1d", x, p, window, 1, option.One(opts), MaxPool1d, AvgPool1d)
}

// LPPool2d is [LPPool1d] for x [N, C, H, W] or [C, H, W].
func LPPool2d[S Size2d](x torch.Tensor, p float64, window S, opts ...LPPoolOptions) torch.Tensor {
	return lpPool("lp_pool2d", x, p, window, 2, option.One(opts), MaxPool2d, AvgPool2d)
}

// LPPool3d is [LPPool1d] for x [N, C, D, H, W] or [C, D, H, W].
func LPPool3d[S Size3d](x torch.Tensor, p float64, window S, opts ...LPPoolOptions) torch.Tensor {
	return lpPool("lp_pool3d", x, p, window, 3, option.One(opts), MaxPool3d, AvgPool3d)
}

type (
	maxPool = func(x torch.Tensor, window []int, o ...MaxPoolOptions) torch.Tensor
	avgPool = func(x torch.Tensor, window []int, o ...AvgPoolOptions) torch.Tensor
)

func lpPool(op string, x torch.Tensor, p float64, size Size, dims int, v LPPoolOptions, maximum maxPool, average avgPool) torch.Tensor {
	window, count := Spread(op+" window", size, dims), 1
	for _, n := range window {
		count *= n
	}
	if p == 0 {
		torch.Throw(op, torch.KindValue, "norm_type must be a non-zero value, but got %s", pytext.Float(p))
	}
	return torch.Scope1(func() torch.Tensor {
		switch {
		case math.IsInf(p, 1):
			return maximum(x.Abs(), window, MaxPoolOptions{Stride: v.Stride, CeilMode: v.CeilMode})
		case math.IsInf(p, -1):
			return maximum(x.Abs().Neg(), window, MaxPoolOptions{Stride: v.Stride, CeilMode: v.CeilMode}).Neg()
		}
		mean := average(x.PowScalar(p), window, AvgPoolOptions{Stride: v.Stride, CeilMode: v.CeilMode})
		return mean.Sign().Mul(mean.Abs().ReLU()).MulScalar(count).PowScalar(1 / p)
	})
}

// Unchanged, as an element of an adaptive pooling's []int, keeps the input's size in that
// dimension: PyTorch's None.
const Unchanged = math.MinInt

// AdaptiveAvgPool1d averages x [N, C, L] or [C, L] down to the given length.
func AdaptiveAvgPool1d[S Size1d](x torch.Tensor, size S) torch.Tensor {
	return aten.AdaptiveAvgPool1d(x, Spread("adaptive_avg_pool1d size", size, 1)...)
}

// AdaptiveAvgPool2d averages x [N, C, H, W] or [C, H, W] down to the given height and
// width, either of which may be [Unchanged].
func AdaptiveAvgPool2d[S Size2d](x torch.Tensor, size S) torch.Tensor {
	return aten.AdaptiveAvgPool2d(x, adaptiveSize("adaptive_avg_pool2d", x, size, 2)...)
}

// AdaptiveAvgPool3d averages x [N, C, D, H, W] or [C, D, H, W] down to the given depth,
// height and width, each of which may be [Unchanged].
func AdaptiveAvgPool3d[S Size3d](x torch.Tensor, size S) torch.Tensor {
	return aten.AdaptiveAvgPool3d(x, adaptiveSize("adaptive_avg_pool3d", x, size, 3)...)
}

// adaptiveSize writes a size out and puts x's sizes in the place of Unchanged.
func adaptiveSize(op string, x torch.Tensor, size Size, n int) []int {
	list := Spread(op+" size", size, n)
	if _, one := integerOf(reflect.ValueOf(size)); one {
		return list
	}
	if x.Dim() <= n {
		torch.Throw(op, torch.KindValue, "Input dimension should be at least %d", n+1)
	}
	full := slices.Clone(list)
	for i, own := range lastSizes(x, n) {
		if full[i] == Unchanged {
			full[i] = own
		}
	}
	return full
}
