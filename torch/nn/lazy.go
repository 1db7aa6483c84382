package nn

import "github.com/libtorch-go/libtorch/torch"

// lazy makes a layer when its first input has come.
type lazy[L any] struct {
	make func(x torch.Tensor) *L // nil once it was called
}

// become fills the layer in, which keeps its mode.
func (z *lazy[L]) become(layer *L, x torch.Tensor) {
	if z.make == nil {
		return
	}
	made := z.make(x)
	for n := range walk(layer) {
		for _, mode := range n.modes() {
			setMode(made, *mode)
		}
	}
	*layer, z.make = *made, nil
}

// channelsOf are those of x, of that many dimensions or one less for a single example.
func channelsOf(x torch.Tensor, dims int) int { return x.Size(max(x.Dim(), dims-1) - dims + 1) }

// instance are the options of an instance normalisation that has all that a batch
// normalisation has.
func instance(o *BatchNormOptions) *InstanceNormOptions {
	v := options(o)
	return &InstanceNormOptions{Eps: v.Eps, Momentum: v.Momentum, Affine: !v.NoAffine, RunningStats: !v.NoRunningStats}
}

// The lazy layers have as many inputs as the first tensor that they are given, and no
// parameters before: give them one before their parameters are asked for or loaded, and
// before other goroutines use them.
type (
	// LazyLinear is a [Linear] for any number of features.
	LazyLinear struct {
		Linear
		lazy[Linear]
	}
	// LazyConv1d is a [Conv1d] for any number of channels.
	LazyConv1d struct {
		Conv1d
		lazy[Conv1d]
	}
	// LazyConv2d is a [Conv2d] for any number of channels.
	LazyConv2d struct {
		Conv2d
		lazy[Conv2d]
	}
	// LazyConv3d is a [Conv3d] for any number of channels.
	LazyConv3d struct {
		Conv3d
		lazy[Conv3d]
	}
	// LazyConvTranspose1d is a [ConvTranspose1d] for any number of channels.
	LazyConvTranspose1d struct {
		ConvTranspose1d
		lazy[ConvTranspose1d]
	}
	// LazyConvTranspose2d is a [ConvTranspose2d] for any number of channels.
	LazyConvTranspose2d struct {
		ConvTranspose2d
		lazy[ConvTranspose2d]
	}
	// LazyConvTranspose3d is a [ConvTranspose3d] for any number of channels.
	LazyConvTranspose3d struct {
		ConvTranspose3d
		lazy[ConvTranspose3d]
	}
	// LazyBatchNorm1d is a [BatchNorm1d] for any number of channels.
	LazyBatchNorm1d struct {
		BatchNorm1d
		lazy[BatchNorm1d]
	}
	// LazyBatchNorm2d is a [BatchNorm2d] for any number of channels.
	LazyBatchNorm2d struct {
		BatchNorm2d
		lazy[BatchNorm2d]
	}
	// LazyBatchNorm3d is a [BatchNorm3d] for any number of channels.
	LazyBatchNorm3d struct {
		BatchNorm3d
		lazy[BatchNorm3d]
	}
	// LazyInstanceNorm1d is an [InstanceNorm1d] for any number of channels.
	LazyInstanceNorm1d struct {
		InstanceNorm1d
		lazy[InstanceNorm1d]
	}
	// LazyInstanceNorm2d is an [InstanceNorm2d] for any number of channels.
	LazyInstanceNorm2d struct {
		InstanceNorm2d
		lazy[InstanceNorm2d]
	}
	// LazyInstanceNorm3d is an [InstanceNorm3d] for any number of channels.
	LazyInstanceNorm3d struct {
		InstanceNorm3d
		lazy[InstanceNorm3d]
	}
)

// NewLazyLinear makes a layer to out features.
func NewLazyLinear(out int, o *LinearOptions) *LazyLinear {
	return &LazyLinear{lazy: lazy[Linear]{func(x torch.Tensor) *Linear { return NewLinear(x.Size(-1), out, o) }}}
}

// Forward is [Linear.Forward].
func (l *LazyLinear) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.Linear, x)
	return l.Linear.Forward(x)
}

// NewLazyConv1d makes a layer to out channels with kernels of size k.
func NewLazyConv1d(out int, k Size, o *ConvOptions) *LazyConv1d {
	return &LazyConv1d{lazy: lazy[Conv1d]{func(x torch.Tensor) *Conv1d { return NewConv1d(channelsOf(x, 3), out, k, o) }}}
}

// Forward is [Conv1d.Forward].
func (l *LazyConv1d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.Conv1d, x)
	return l.Conv1d.Forward(x)
}

// NewLazyConv2d makes a layer to out channels with kernels of size k.
func NewLazyConv2d(out int, k Size, o *ConvOptions) *LazyConv2d {
	return &LazyConv2d{lazy: lazy[Conv2d]{func(x torch.Tensor) *Conv2d { return NewConv2d(channelsOf(x, 4), out, k, o) }}}
}

// Forward is [Conv2d.Forward].
func (l *LazyConv2d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.Conv2d, x)
	return l.Conv2d.Forward(x)
}

// NewLazyConv3d makes a layer to out channels with kernels of size k.
func NewLazyConv3d(out int, k Size, o *ConvOptions) *LazyConv3d {
	return &LazyConv3d{lazy: lazy[Conv3d]{func(x torch.Tensor) *Conv3d { return NewConv3d(channelsOf(x, 5), out, k, o) }}}
}

// Forward is [Conv3d.Forward].
func (l *LazyConv3d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.Conv3d, x)
	return l.Conv3d.Forward(x)
}

// NewLazyConvTranspose1d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose1d(out int, k Size, o *ConvTransposeOptions) *LazyConvTranspose1d {
	return &LazyConvTranspose1d{lazy: lazy[ConvTranspose1d]{func(x torch.Tensor) *ConvTranspose1d { return NewConvTranspose1d(channelsOf(x, 3), out, k, o) }}}
}

// Forward is [ConvTranspose1d.Forward].
func (l *LazyConvTranspose1d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.ConvTranspose1d, x)
	return l.ConvTranspose1d.Forward(x)
}

// NewLazyConvTranspose2d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose2d(out int, k Size, o *ConvTransposeOptions) *LazyConvTranspose2d {
	return &LazyConvTranspose2d{lazy: lazy[ConvTranspose2d]{func(x torch.Tensor) *ConvTranspose2d { return NewConvTranspose2d(channelsOf(x, 4), out, k, o) }}}
}

// Forward is [ConvTranspose2d.Forward].
func (l *LazyConvTranspose2d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.ConvTranspose2d, x)
	return l.ConvTranspose2d.Forward(x)
}

// NewLazyConvTranspose3d makes a layer to out channels with kernels of size k.
func NewLazyConvTranspose3d(out int, k Size, o *ConvTransposeOptions) *LazyConvTranspose3d {
	return &LazyConvTranspose3d{lazy: lazy[ConvTranspose3d]{func(x torch.Tensor) *ConvTranspose3d { return NewConvTranspose3d(channelsOf(x, 5), out, k, o) }}}
}

// Forward is [ConvTranspose3d.Forward].
func (l *LazyConvTranspose3d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.ConvTranspose3d, x)
	return l.ConvTranspose3d.Forward(x)
}

// NewLazyBatchNorm1d makes a layer.
func NewLazyBatchNorm1d(o *BatchNormOptions) *LazyBatchNorm1d {
	return &LazyBatchNorm1d{lazy: lazy[BatchNorm1d]{func(x torch.Tensor) *BatchNorm1d { return NewBatchNorm1d(x.Size(1), o) }}}
}

// Forward is [BatchNorm1d.Forward].
func (l *LazyBatchNorm1d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.BatchNorm1d, x)
	return l.BatchNorm1d.Forward(x)
}

// NewLazyBatchNorm2d makes a layer.
func NewLazyBatchNorm2d(o *BatchNormOptions) *LazyBatchNorm2d {
	return &LazyBatchNorm2d{lazy: lazy[BatchNorm2d]{func(x torch.Tensor) *BatchNorm2d { return NewBatchNorm2d(x.Size(1), o) }}}
}

// Forward is [BatchNorm2d.Forward].
func (l *LazyBatchNorm2d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.BatchNorm2d, x)
	return l.BatchNorm2d.Forward(x)
}

// NewLazyBatchNorm3d makes a layer.
func NewLazyBatchNorm3d(o *BatchNormOptions) *LazyBatchNorm3d {
	return &LazyBatchNorm3d{lazy: lazy[BatchNorm3d]{func(x torch.Tensor) *BatchNorm3d { return NewBatchNorm3d(x.Size(1), o) }}}
}

// Forward is [BatchNorm3d.Forward].
func (l *LazyBatchNorm3d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.BatchNorm3d, x)
	return l.BatchNorm3d.Forward(x)
}

// NewLazyInstanceNorm1d makes a layer. Unlike [NewInstanceNorm1d] it has a weight, a bias and running
// statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm1d(o *BatchNormOptions) *LazyInstanceNorm1d {
	return &LazyInstanceNorm1d{lazy: lazy[InstanceNorm1d]{func(x torch.Tensor) *InstanceNorm1d { return NewInstanceNorm1d(x.Size(1), instance(o)) }}}
}

// Forward is [InstanceNorm1d.Forward].
func (l *LazyInstanceNorm1d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.InstanceNorm1d, x)
	return l.InstanceNorm1d.Forward(x)
}

// NewLazyInstanceNorm2d makes a layer. Unlike [NewInstanceNorm2d] it has a weight, a bias and running
// statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm2d(o *BatchNormOptions) *LazyInstanceNorm2d {
	return &LazyInstanceNorm2d{lazy: lazy[InstanceNorm2d]{func(x torch.Tensor) *InstanceNorm2d { return NewInstanceNorm2d(x.Size(1), instance(o)) }}}
}

// Forward is [InstanceNorm2d.Forward].
func (l *LazyInstanceNorm2d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.InstanceNorm2d, x)
	return l.InstanceNorm2d.Forward(x)
}

// NewLazyInstanceNorm3d makes a layer. Unlike [NewInstanceNorm3d] it has a weight, a bias and running
// statistics unless the options say no, as in PyTorch.
func NewLazyInstanceNorm3d(o *BatchNormOptions) *LazyInstanceNorm3d {
	return &LazyInstanceNorm3d{lazy: lazy[InstanceNorm3d]{func(x torch.Tensor) *InstanceNorm3d { return NewInstanceNorm3d(x.Size(1), instance(o)) }}}
}

// Forward is [InstanceNorm3d.Forward].
func (l *LazyInstanceNorm3d) Forward(x torch.Tensor) torch.Tensor {
	l.become(&l.InstanceNorm3d, x)
	return l.InstanceNorm3d.Forward(x)
}
