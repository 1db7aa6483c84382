package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// BatchNorm is what the batch normalisations of all dimensions have in common.
type BatchNorm struct {
	Weight            torch.Tensor // [C], ones at first; undefined without Affine
	Bias              torch.Tensor // [C], zeros at first
	RunningMean       torch.Tensor `torch:"running_mean,buffer"` // [C], zeros at first
	RunningVar        torch.Tensor `torch:"running_var,buffer"`  // [C], ones at first
	NumBatchesTracked torch.Tensor `torch:"num_batches_tracked,buffer,optional"`
	Mode              Mode
	Channels          int
	Eps               float64
	Momentum          *float64 // nil: the running statistics are the mean over all batches
}

// BatchNorm1d normalises the channels of [N, C] or [N, C, L].
type BatchNorm1d struct{ BatchNorm }

// BatchNorm2d normalises the channels of [N, C, H, W].
type BatchNorm2d struct{ BatchNorm }

// BatchNorm3d normalises the channels of [N, C, D, H, W].
type BatchNorm3d struct{ BatchNorm }

// BatchNormOptions are the rarer arguments of the batch normalisations.
type BatchNormOptions struct {
	Eps                 *float64 // added to the variance; default 1e-5
	Momentum            *float64 // weight of a batch in the running statistics; default 0.1
	Cumulative          bool     // PyTorch's momentum=None: the mean over all batches instead
	NoAffine            bool     // no weight and bias
	NoTrackRunningStats bool     // normalise with the batch's own statistics in evaluation too
}

// NewBatchNorm1d makes a layer for that many channels.
func NewBatchNorm1d(channels int, opts ...BatchNormOptions) *BatchNorm1d {
	return &BatchNorm1d{newBatchNorm(channels, option.One(opts))}
}

// NewBatchNorm2d makes a layer for that many channels.
func NewBatchNorm2d(channels int, opts ...BatchNormOptions) *BatchNorm2d {
	return &BatchNorm2d{newBatchNorm(channels, option.One(opts))}
}

// NewBatchNorm3d makes a layer for that many channels.
func NewBatchNorm3d(channels int, opts ...BatchNormOptions) *BatchNorm3d {
	return &BatchNorm3d{newBatchNorm(channels, option.One(opts))}
}

func newBatchNorm(channels int, v BatchNormOptions) BatchNorm {
	b := BatchNorm{Channels: channels, Eps: or(v.Eps, 1e-5)}
	if !v.Cumulative {
		b.Momentum = new(or(v.Momentum, 0.1))
	}
	if !v.NoAffine {
		b.Weight, b.Bias = newAffine(channels)
	}
	if !v.NoTrackRunningStats {
		create(func() {
			b.RunningMean, b.RunningVar = torch.Zeros(channels), torch.Ones(channels)
			b.NumBatchesTracked = torch.FromValue(int64(0))
		})
	}
	return b
}

// newAffine makes the weight and bias of a normalisation.
func newAffine(shape ...int) (weight, bias torch.Tensor) {
	create(func() {
		weight = torch.Ones(shape...).SetRequiresGrad(true)
		bias = torch.Zeros(shape...).SetRequiresGrad(true)
	})
	return weight, bias
}

// Common is what the layer shares with batch normalisations of other dimensions.
func (b *BatchNorm) Common() *BatchNorm { return b }

// ResetRunningStats sets the running statistics to what they were at first.
func (b *BatchNorm) ResetRunningStats() {
	if b.RunningMean.Defined() {
		b.RunningMean.ZeroInPlace()
		b.RunningVar.FillInPlace(1)
		b.NumBatchesTracked.ZeroInPlace()
	}
}

func (b *BatchNorm) forward(x torch.Tensor) torch.Tensor {
	tracks := b.RunningMean.Defined()
	o := F.BatchNormOptions{Weight: b.Weight, Bias: b.Bias, RunningMean: b.RunningMean, RunningVar: b.RunningVar,
		Training: b.Mode.Training() || !tracks, Momentum: b.Momentum, Eps: &b.Eps}
	if b.Mode.Training() && tracks {
		b.NumBatchesTracked.AddScalarInPlace(1)
		if b.Momentum == nil {
			o.Momentum = new(1 / b.NumBatchesTracked.Float64())
		}
	}
	return F.BatchNorm(x, o)
}

// Forward keeps the shape.
func (b *BatchNorm1d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(b, x, func(x torch.Tensor) torch.Tensor {
		if dims := x.Dim(); dims != 2 && dims != 3 {
			torch.Throw("batch_norm1d", torch.KindValue, "expected an input of 2 or 3 dimensions, got shape %v", x.Shape())
		}
		return b.forward(x)
	})
}

// Forward keeps the shape.
func (b *BatchNorm2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(b, x, func(x torch.Tensor) torch.Tensor {
		if x.Dim() != 4 {
			torch.Throw("batch_norm2d", torch.KindValue, "expected an input of 4 dimensions, got shape %v", x.Shape())
		}
		return b.forward(x)
	})
}

// Forward keeps the shape.
func (b *BatchNorm3d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(b, x, func(x torch.Tensor) torch.Tensor {
		if x.Dim() != 5 {
			torch.Throw("batch_norm3d", torch.KindValue, "expected an input of 5 dimensions, got shape %v", x.Shape())
		}
		return b.forward(x)
	})
}

// LayerNorm normalises over the last dimensions.
type LayerNorm struct {
	Weight torch.Tensor // of the normalised shape, ones at first
	Bias   torch.Tensor // of the normalised shape, zeros at first
	Shape  []int
	Eps    float64
}

// LayerNormOptions are the rarer arguments of [NewLayerNorm].
type LayerNormOptions struct {
	Eps                 *float64 // added to the variance; default 1e-5
	NoElementwiseAffine bool     // no weight and bias
	NoBias              bool
}

// NewLayerNorm makes a layer that normalises over the last dimensions, of the given shape: a
// list, or an integer for one.
func NewLayerNorm[S Shape](shape S, opts ...LayerNormOptions) *LayerNorm {
	return newLayerNorm(F.Sizes(shape), option.One(opts))
}

func newLayerNorm(shape []int, v LayerNormOptions) *LayerNorm {
	l := &LayerNorm{Shape: shape, Eps: or(v.Eps, 1e-5)}
	if !v.NoElementwiseAffine {
		l.Weight, l.Bias = newAffine(shape...)
	}
	if v.NoBias {
		l.Bias.Close()
		l.Bias = torch.Tensor{}
	}
	return l
}

// Forward keeps the shape.
func (l *LayerNorm) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(l, x, func(x torch.Tensor) torch.Tensor {
		return F.LayerNorm(x, l.Shape, F.LayerNormOptions{Weight: l.Weight, Bias: l.Bias, Eps: &l.Eps})
	})
}

// GroupNorm normalises each group of channels.
type GroupNorm struct {
	Weight torch.Tensor // [C], ones at first
	Bias   torch.Tensor // [C], zeros at first
	Groups int
	Eps    float64

	channels int
}

// GroupNormOptions are the rarer arguments of [NewGroupNorm].
type GroupNormOptions struct {
	Eps      *float64 // added to the variance; default 1e-5
	NoAffine bool     // no weight and bias
}

// NewGroupNorm makes a layer that divides the channels into groups.
func NewGroupNorm(groups, channels int, opts ...GroupNormOptions) *GroupNorm {
	if groups <= 0 || channels%groups != 0 {
		torch.Throw("group_norm", torch.KindValue, "%d channels cannot be divided into %d groups", channels, groups)
	}
	v := option.One(opts)
	g := &GroupNorm{Groups: groups, Eps: or(v.Eps, 1e-5), channels: channels}
	if !v.NoAffine {
		g.Weight, g.Bias = newAffine(channels)
	}
	return g
}

// Forward keeps the shape.
func (g *GroupNorm) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(g, x, func(x torch.Tensor) torch.Tensor {
		return F.GroupNorm(x, g.Groups, F.GroupNormOptions{Weight: g.Weight, Bias: g.Bias, Eps: &g.Eps})
	})
}
