package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// Lazy is a layer that is made when its first input arrives, for as many features or channels
// as the input has. Before that it has no parameters: give it an input before its parameters
// are used or loaded, and before other goroutines use it.
type Lazy[L Layer] struct {
	Layer L `torch:",inline"` // nil before
	Mode  Mode

	make func(x torch.Tensor) L // nil once Layer is made
	text string                 // what it is made of, before
}

// String describes the layer, or what it is to be, see [String].
func (z Lazy[L]) String() string { return String(z) }

// ReprName is PyTorch's name, which the layer loses when it is made.
func (z Lazy[L]) ReprName() string {
	name := typeName(*new(L))
	if z.make != nil {
		return "Lazy" + name
	}
	return name
}

func (z Lazy[L]) extraRepr() string {
	if z.make != nil {
		return z.text
	}
	return any(z.Layer).(describer).extraRepr()
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
func lazyConv[L Layer, S any](make func(in, out int, k S, opts ...ConvOptions) L, dims, out int, k S, opts []ConvOptions) *Lazy[L] {
	o := option.One(opts)
	return &Lazy[L]{make: func(x torch.Tensor) L { return make(channelsOf(x, dims+2), out, k, o) },
		text: convText(0, out, F.Spread("kernel", k, dims), o, nil, !o.NoBias)}
}

// lazyTransposed is lazyConv for transposed convolutions.
func lazyTransposed[L Layer, S any](make func(in, out int, k S, opts ...ConvTransposeOptions) L, dims, out int, k S,
	opts []ConvTransposeOptions) *Lazy[L] {
	o := option.One(opts)
	return &Lazy[L]{make: func(x torch.Tensor) L { return make(channelsOf(x, dims+2), out, k, o) },
		text: convText(0, out, F.Spread("kernel", k, dims), asConv(o), o.OutputPadding, !o.NoBias)}
}

// lazyNorm makes a layer of which make is the constructor. The options are a batch
// normalisation's.
func lazyNorm[L Layer, O any](make func(channels int, opts ...O) L, o O, v BatchNormOptions) *Lazy[L] {
	momentum := new(or(v.Momentum, 0.1))
	if v.Cumulative {
		momentum = nil
	}
	channels := func(x torch.Tensor) int { return x.Size(1) }
	if v.NoAffine && v.NoTrackRunningStats {
		channels = func(torch.Tensor) int { return 0 } // PyTorch counts them for its tensors alone
	}
	return &Lazy[L]{make: func(x torch.Tensor) L { return make(channels(x), o) },
		text: batchNormText(0, or(v.Eps, 1e-5), momentum, !v.NoAffine, !v.NoTrackRunningStats)}
}

// instance are the options of an instance normalisation that has all that a batch
// normalisation has.
func instance(v BatchNormOptions) InstanceNormOptions {
	return InstanceNormOptions{Eps: v.Eps, Momentum: v.Momentum, Affine: !v.NoAffine, TrackRunningStats: !v.NoTrackRunningStats}
}

// NewLazyLinear makes a layer to out features.
func NewLazyLinear(out int, opts ...LinearOptions) *LazyLinear {
	o := option.One(opts)
	return &LazyLinear{make: func(x torch.Tensor) *Linear { return NewLinear(x.Size(-1), out, o) }, text: linearText(0, out, !o.NoBias)}
}

// NewLazyConv1d makes a layer to out channels with kernels of size k.
func NewLazyConv1d[S Size1d](out int, k S, opts ...ConvOptions) *LazyConv1d {
	return lazyConv(NewConv1d[S], 1, out, k, opts)
}

// NewLazyConv2d makes a layer to out channels with kernels of size k.
func NewLazyConv2d[S Size2d](out int, k S, opts ...ConvOptions) *LazyConv2d {
	return lazyConv(NewConv2d[S], 2, out, k, opts)
}

// NewLazyConv3d makes a layer to out channels with kernels of size k.
func NewLazyConv3d[S Size3d](out int, k S, opts ...ConvOptions) *LazyConv3d {
	return lazyConv(NewConv3d[S], 3, out, k, opts)
}

// NewLazyConvTranspose1d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose1d[S Size1d](out int, k S, opts ...ConvTransposeOptions) *LazyConvTranspose1d {
	return lazyTransposed(NewConvTranspose1d[S], 1, out, k, opts)
}

// NewLazyConvTranspose2d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose2d[S Size2d](out int, k S, opts ...ConvTransposeOptions) *LazyConvTranspose2d {
	return lazyTransposed(NewConvTranspose2d[S], 2, out, k, opts)
}

// NewLazyConvTranspose3d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose3d[S Size3d](out int, k S, opts ...ConvTransposeOptions) *LazyConvTranspose3d {
	return lazyTransposed(NewConvTranspose3d[S], 3, out, k, opts)
}

// NewLazyBatchNorm1d makes a layer.
func NewLazyBatchNorm1d(opts ...BatchNormOptions) *LazyBatchNorm1d {
	v := option.One(opts)
	return lazyNorm(NewBatchNorm1d, v, v)
}

// NewLazyBatchNorm2d makes a layer.
func NewLazyBatchNorm2d(opts ...BatchNormOptions) *LazyBatchNorm2d {
	v := option.One(opts)
	return lazyNorm(NewBatchNorm2d, v, v)
}

// NewLazyBatchNorm3d makes a layer.
func NewLazyBatchNorm3d(opts ...BatchNormOptions) *LazyBatchNorm3d {
	v := option.One(opts)
	return lazyNorm(NewBatchNorm3d, v, v)
}

// NewLazyInstanceNorm1d makes a layer. Unlike [NewInstanceNorm1d] it has a weight, a bias and
// running statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm1d(opts ...BatchNormOptions) *LazyInstanceNorm1d {
	v := option.One(opts)
	return lazyNorm(NewInstanceNorm1d, instance(v), v)
}

// NewLazyInstanceNorm2d makes a layer. Unlike [NewInstanceNorm2d] it has a weight, a bias and
// running statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm2d(opts ...BatchNormOptions) *LazyInstanceNorm2d {
	v := option.One(opts)
	return lazyNorm(NewInstanceNorm2d, instance(v), v)
}

// NewLazyInstanceNorm3d makes a layer. Unlike [NewInstanceNorm3d] it has a weight, a bias and
// running statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm3d(opts ...BatchNormOptions) *LazyInstanceNorm3d {
	v := option.One(opts)
	return lazyNorm(NewInstanceNorm3d, instance(v), v)
}
