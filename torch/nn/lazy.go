package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Lazy is a layer that is made when its first input arrives, for as many features or channels
// as the input has. Before that it has no parameters: give it an input before its parameters
// are used or loaded, and before other goroutines use it.
type Lazy[L Layer] struct {
	Layer L `torch:",inline"` // nil before
	Mode  Mode

	make func(x torch.Tensor) L // nil once Layer is made
}

// Forward is that of the layer.
func (z *Lazy[L]) Forward(x torch.Tensor) torch.Tensor {
	if z.make != nil {
		z.Layer, z.make = setMode(z.make(x), z.Mode), nil
	}
	return z.Layer.Forward(x)
}

// The lazy layers.
type (
	LazyLinear          = Lazy[*Linear]
	LazyConv1d          = Lazy[*Conv1d]
	LazyConv2d          = Lazy[*Conv2d]
	LazyConv3d          = Lazy[*Conv3d]
	LazyConvTranspose1d = Lazy[*ConvTranspose1d]
	LazyConvTranspose2d = Lazy[*ConvTranspose2d]
	LazyConvTranspose3d = Lazy[*ConvTranspose3d]
	LazyBatchNorm1d     = Lazy[*BatchNorm1d]
	LazyBatchNorm2d     = Lazy[*BatchNorm2d]
	LazyBatchNorm3d     = Lazy[*BatchNorm3d]
	LazyInstanceNorm1d  = Lazy[*InstanceNorm1d]
	LazyInstanceNorm2d  = Lazy[*InstanceNorm2d]
	LazyInstanceNorm3d  = Lazy[*InstanceNorm3d]
)

// channelsOf counts the channels of x, which has that many dimensions, or one less for
// a single example.
func channelsOf(x torch.Tensor, dims int) int { return x.Size(max(x.Dim(), dims-1) - dims + 1) }

// lazyConv makes a lazy layer for dims dimensions; make is the constructor.
func lazyConv[L Layer, S, O any](make func(in, out int, k S, opts ...O) L, dims, out int, k S, o O) *Lazy[L] {
	return &Lazy[L]{make: func(x torch.Tensor) L { return make(channelsOf(x, dims+2), out, k, o) }}
}

// lazyNorm makes a layer of which make is the constructor.
func lazyNorm[L Layer, O any](make func(channels int, opts ...O) L, o O) *Lazy[L] {
	return &Lazy[L]{make: func(x torch.Tensor) L { return make(x.Size(1), o) }}
}

// instance are the options of an instance normalisation that has all that a batch
// normalisation has.
func instance(v BatchNormOptions) InstanceNormOptions {
	return InstanceNormOptions{Eps: v.Eps, Momentum: v.Momentum, Affine: !v.NoAffine, TrackRunningStats: !v.NoTrackRunningStats}
}

// NewLazyLinear makes a layer to out features.
func NewLazyLinear(out int, opts ...LinearOptions) *LazyLinear {
	o := option.One(opts)
	return &LazyLinear{make: func(x torch.Tensor) *Linear { return NewLinear(x.Size(-1), out, o) }}
}

// NewLazyConv1d makes a layer to out channels with kernels of size k.
func NewLazyConv1d[S Size1d](out int, k S, opts ...ConvOptions) *LazyConv1d {
	return lazyConv(NewConv1d[S], 1, out, k, option.One(opts))
}

// NewLazyConv2d makes a layer to out channels with kernels of size k.
func NewLazyConv2d[S Size2d](out int, k S, opts ...ConvOptions) *LazyConv2d {
	return lazyConv(NewConv2d[S], 2, out, k, option.One(opts))
}

// NewLazyConv3d makes a layer to out channels with kernels of size k.
func NewLazyConv3d[S Size3d](out int, k S, opts ...ConvOptions) *LazyConv3d {
	return lazyConv(NewConv3d[S], 3, out, k, option.One(opts))
}

// NewLazyConvTranspose1d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose1d[S Size1d](out int, k S, opts ...ConvTransposeOptions) *LazyConvTranspose1d {
	return lazyConv(NewConvTranspose1d[S], 1, out, k, option.One(opts))
}

// NewLazyConvTranspose2d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose2d[S Size2d](out int, k S, opts ...ConvTransposeOptions) *LazyConvTranspose2d {
	return lazyConv(NewConvTranspose2d[S], 2, out, k, option.One(opts))
}

// NewLazyConvTranspose3d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose3d[S Size3d](out int, k S, opts ...ConvTransposeOptions) *LazyConvTranspose3d {
	return lazyConv(NewConvTranspose3d[S], 3, out, k, option.One(opts))
}

// NewLazyBatchNorm1d makes a layer.
func NewLazyBatchNorm1d(opts ...BatchNormOptions) *LazyBatchNorm1d {
	return lazyNorm(NewBatchNorm1d, option.One(opts))
}

// NewLazyBatchNorm2d makes a layer.
func NewLazyBatchNorm2d(opts ...BatchNormOptions) *LazyBatchNorm2d {
	return lazyNorm(NewBatchNorm2d, option.One(opts))
}

// NewLazyBatchNorm3d makes a layer.
func NewLazyBatchNorm3d(opts ...BatchNormOptions) *LazyBatchNorm3d {
	return lazyNorm(NewBatchNorm3d, option.One(opts))
}

// NewLazyInstanceNorm1d makes a layer. Unlike [NewInstanceNorm1d] it has a weight, a bias and
// running statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm1d(opts ...BatchNormOptions) *LazyInstanceNorm1d {
	return lazyNorm(NewInstanceNorm1d, instance(option.One(opts)))
}

// NewLazyInstanceNorm2d makes a layer. Unlike [NewInstanceNorm2d] it has a weight, a bias and
// running statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm2d(opts ...BatchNormOptions) *LazyInstanceNorm2d {
	return lazyNorm(NewInstanceNorm2d, instance(option.One(opts)))
}

// NewLazyInstanceNorm3d makes a layer. Unlike [NewInstanceNorm3d] it has a weight, a bias and
// running statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm3d(opts ...BatchNormOptions) *LazyInstanceNorm3d {
	return lazyNorm(NewInstanceNorm3d, instance(option.One(opts)))
}
