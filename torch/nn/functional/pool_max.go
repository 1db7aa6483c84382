package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// MaxPool1dWithIndices is [MaxPool1d] and where each value was found, as [MaxUnpool1d]
// wants it.
func MaxPool1dWithIndices[S Size1d](x torch.Tensor, window S, opts ...MaxPoolOptions) (values, indices torch.Tensor) {
	o := option.One(opts)
	w, s, p, d := o.spread("max_pool1d", window, 1)
	return aten.MaxPool1dWithIndices(x, w, aten.MaxPool1dWithIndicesOptions{Stride: s, Padding: p, Dilation: d, CeilMode: o.CeilMode})
}

// MaxPool2dWithIndices is [MaxPool2d] and where each value was found, as [MaxUnpool2d]
// wants it.
func MaxPool2dWithIndices[S Size2d](x torch.Tensor, window S, opts ...MaxPoolOptions) (values, indices torch.Tensor) {
	o := option.One(opts)
	w, s, p, d := o.spread("max_pool2d", window, 2)
	return aten.MaxPool2dWithIndices(x, w, aten.MaxPool2dWithIndicesOptions{Stride: s, Padding: p, Dilation: d, CeilMode: o.CeilMode})
}

// MaxPool3dWithIndices is [MaxPool3d] and where each value was found, as [MaxUnpool3d]
// wants it.
func MaxPool3dWithIndices[S Size3d](x torch.Tensor, window S, opts ...MaxPoolOptions) (values, indices torch.Tensor) {
	o := option.One(opts)
	w, s, p, d := o.spread("max_pool3d", window, 3)
	return aten.MaxPool3dWithIndices(x, w, aten.MaxPool3dWithIndicesOptions{Stride: s, Padding: p, Dilation: d, CeilMode: o.CeilMode})
}

// spread writes the sizes of a pooling in n dimensions out.
func (v MaxPoolOptions) spread(op string, window Size, n int) (size, stride, padding, dilation []int) {
	return Spread(op+" window", window, n), spreadOr(op+" stride", v.Stride, n, nil),
		spreadOr(op+" padding", v.Padding, n, nil), spreadOr(op+" dilation", v.Dilation, n, nil)
}

// AdaptiveMaxPool1d takes maxima of x [N, C, L] or [C, L], as many as size says.
func AdaptiveMaxPool1d[S Size1d](x torch.Tensor, size S) torch.Tensor {
	return first(AdaptiveMaxPool1dWithIndices(x, size))
}

// AdaptiveMaxPool2d takes maxima of x [N, C, H, W] or [C, H, W], as many as size says in
// each dimension, either of which may be [Unchanged].
func AdaptiveMaxPool2d[S Size2d](x torch.Tensor, size S) torch.Tensor {
	return first(AdaptiveMaxPool2dWithIndices(x, size))
}

// AdaptiveMaxPool3d takes maxima of x [N, C, D, H, W] or [C, D, H, W], as many as size says
// in each dimension, any of which may be [Unchanged].
func AdaptiveMaxPool3d[S Size3d](x torch.Tensor, size S) torch.Tensor {
	return first(AdaptiveMaxPool3dWithIndices(x, size))
}

// AdaptiveMaxPool1dWithIndices is [AdaptiveMaxPool1d] and where each value was found.
func AdaptiveMaxPool1dWithIndices[S Size1d](x torch.Tensor, size S) (values, indices torch.Tensor) {
	return aten.AdaptiveMaxPool1d(x, Spread("adaptive_max_pool1d size", size, 1)...)
}

// AdaptiveMaxPool2dWithIndices is [AdaptiveMaxPool2d] and where each value was found.
func AdaptiveMaxPool2dWithIndices[S Size2d](x torch.Tensor, size S) (values, indices torch.Tensor) {
	return aten.AdaptiveMaxPool2d(x, adaptiveSize("adaptive_max_pool2d", x, size, 2)...)
}

// AdaptiveMaxPool3dWithIndices is [AdaptiveMaxPool3d] and where each value was found.
func AdaptiveMaxPool3dWithIndices[S Size3d](x torch.Tensor, size S) (values, indices torch.Tensor) {
	return aten.AdaptiveMaxPool3d(x, adaptiveSize("adaptive_max_pool3d", x, size, 3)...)
}

// FractionalMaxPoolOptions say how large the result of a fractional max pooling is: one of
// OutputSize and OutputRatio is needed.
type FractionalMaxPoolOptions struct {
	OutputSize    Size         // of the result
	OutputRatio   Factor       // of the result's size to the input's, between 0 and 1
	RandomSamples torch.Tensor // [N, C, 2 or 3] from [0, 1): where the windows lie; default: random
}

// FractionalMaxPool2d takes maxima of x [N, C, H, W] or [C, H, W] in windows that are
// placed at random, so that the result's size need not divide the input's.
func FractionalMaxPool2d[S Size2d](x torch.Tensor, window S, opts ...FractionalMaxPoolOptions) torch.Tensor {
	return first(FractionalMaxPool2dWithIndices(x, window, opts...))
}

// FractionalMaxPool3d is [FractionalMaxPool2d] for x [N, C, D, H, W] or [C, D, H, W].
func FractionalMaxPool3d[S Size3d](x torch.Tensor, window S, opts ...FractionalMaxPoolOptions) torch.Tensor {
	return first(FractionalMaxPool3dWithIndices(x, window, opts...))
}

// FractionalMaxPool2dWithIndices is [FractionalMaxPool2d] and where each value was found.
func FractionalMaxPool2dWithIndices[S Size2d](x torch.Tensor, window S, opts ...FractionalMaxPoolOptions) (values, indices torch.Tensor) {
	return fractional("fractional_max_pool2d", x, window, 2, option.One(opts), aten.FractionalMaxPool2d)
}

// FractionalMaxPool3dWithIndices is [FractionalMaxPool3d] and where each value was found.
func FractionalMaxPool3dWithIndices[S Size3d](x torch.Tensor, window S, opts ...FractionalMaxPoolOptions) (values, indices torch.Tensor) {
	return fractional("fractional_max_pool3d", x, window, 3, option.One(opts), aten.FractionalMaxPool3d)
}

func fractional(op string, x torch.Tensor, window Size, n int, v FractionalMaxPoolOptions,
	pool func(x torch.Tensor, window, size []int, samples torch.Tensor) (values, indices torch.Tensor),
) (values, indices torch.Tensor) {
	if v.OutputSize == nil && v.OutputRatio == nil {
		torch.Throw(op, torch.KindValue, "%s requires specifying either an output_size or an output_ratio", op)
	}
	w := Spread(op+" window", window, n)
	size := spreadOr(op+" output size", v.OutputSize, n, nil)
	if size == nil {
		size = scaled(lastSizes(x, n), spreadFactor(op+" output ratio", v.OutputRatio, n))
	}
	samples := v.RandomSamples
	if !samples.Defined() {
		batch := 1
		if x.Dim() != n+1 {
			batch = x.Size(0)
		}
		samples = torch.TensorOptions{DType: x.DType(), Device: x.Device()}.Rand(batch, x.Size(-n-1), n)
		defer samples.Close()
	}
	return pool(x, w, size, samples)
}

// MaxUnpoolOptions are the rarer arguments of the max unpoolings: those of the pooling.
type MaxUnpoolOptions struct {
	Stride     Size  // default: the window's size
	Padding    Size  // default 0
	OutputSize []int // of the result, with or without the first two; default: the smallest that fits
}

// MaxUnpool1d puts the values x that [MaxPool1dWithIndices] found back where the indices
// say, and zeros elsewhere.
func MaxUnpool1d[S Size1d](x, indices torch.Tensor, window S, opts ...MaxUnpoolOptions) torch.Tensor {
	o := option.One(opts)
	size, _, _ := o.unpooled("max_unpool1d", x, window, 1)
	return torch.Scope1(func() torch.Tensor {
		return aten.MaxUnpool2d(x.Unsqueeze(-1), indices.Unsqueeze(-1), slices.Concat(size, []int{1})...).SqueezeDim(-1)
	})
}

// MaxUnpool2d puts the values x that [MaxPool2dWithIndices] found back where the indices
// say, and zeros elsewhere.
func MaxUnpool2d[S Size2d](x, indices torch.Tensor, window S, opts ...MaxUnpoolOptions) torch.Tensor {
	o := option.One(opts)
	size, _, _ := o.unpooled("max_unpool2d", x, window, 2)
	return aten.MaxUnpool2d(x, indices, size...)
}

// MaxUnpool3d puts the values x that [MaxPool3dWithIndices] found back where the indices
// say, and zeros elsewhere.
func MaxUnpool3d[S Size3d](x, indices torch.Tensor, window S, opts ...MaxUnpoolOptions) torch.Tensor {
	o := option.One(opts)
	size, stride, padding := o.unpooled("max_unpool3d", x, window, 3)
	return aten.MaxUnpool3d(x, indices, size, stride, padding)
}

// unpooled is the size of the result of an unpooling in n dimensions.
func (v MaxUnpoolOptions) unpooled(op string, x torch.Tensor, window Size, n int) (size, stride, padding []int) {
	w := Spread(op+" window", window, n)
	stride, padding = spreadOr(op+" stride", v.Stride, n, w), spreadOr(op+" padding", v.Padding, n, make([]int, n))
	least := make([]int, n)
	for d, in := range lastSizes(x, n) {
		least[d] = (in-1)*stride[d] + w[d] - 2*padding[d]
	}
	if v.OutputSize == nil {
		return least, stride, padding
	}
	size = v.OutputSize
	if len(size) == n+2 {
		size = size[2:]
	}
	if len(size) != n {
		torch.Throw(op, torch.KindValue, "output_size should be a sequence containing %d or %d elements, but it has a length of '%d'", n,
			n+2, len(size))
	}
	for d, want := range size {
		if low, high := least[d]-stride[d], least[d]+stride[d]; want <= low || want >= high {
			torch.Throw(op, torch.KindValue, "invalid output_size \"%s\" (dim %d must be between %d and %d)", pytext.List(size), d, low, high)
		}
	}
	return size, stride, padding
}

// first is the first of two tensors; the second is closed.
func first(values, indices torch.Tensor) torch.Tensor {
	indices.Close()
	return values
}
