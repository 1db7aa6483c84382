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

	// Normalize computes the layer in training in place of F.BatchNorm, if it is set: dist.ConvertSyncBatchNorm does so.
	Normalize func(x torch.Tensor, o F.BatchNormOptions) torch.Tensor `torch:"-"`
}

// StateVersion implements [Versioned]: since the second the batches are counted.
func (*BatchNorm) StateVersion() int { return 2 }

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
	if b.Mode.Training() && b.Normalize != nil {
		return b.Normalize(x, o)
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

// InstanceNorm is what the instance normalisations of all dimensions have in common.
type InstanceNorm struct {
	Weight            torch.Tensor // [C], ones at first; undefined without Affine
	Bias              torch.Tensor // [C], zeros at first
	RunningMean       torch.Tensor `torch:"running_mean,buffer"`                 // [C], zeros at first; undefined without TrackRunningStats
	RunningVar        torch.Tensor `torch:"running_var,buffer"`                  // [C], ones at first
	NumBatchesTracked torch.Tensor `torch:"num_batches_tracked,buffer,optional"` // always 0, as in PyTorch
	Mode              Mode
	Channels          int
	Eps, Momentum     float64
}

// StateVersion implements [Versioned].
func (*InstanceNorm) StateVersion() int { return 2 }

// InstanceNorm1d normalises every channel of every example of [N, C, L] or [C, L].
type InstanceNorm1d struct{ InstanceNorm }

// InstanceNorm2d normalises every channel of every example of [N, C, H, W] or [C, H, W].
type InstanceNorm2d struct{ InstanceNorm }

// InstanceNorm3d normalises every channel of every example of [N, C, D, H, W] or
// [C, D, H, W].
type InstanceNorm3d struct{ InstanceNorm }

// InstanceNormOptions are the rarer arguments of the instance normalisations.
type InstanceNormOptions struct {
	Eps               *float64 // added to the variance; default 1e-5
	Momentum          *float64 // weight of a batch in the running statistics; default 0.1
	Affine            bool     // with a weight and a bias; unlike other normalisations not by default
	TrackRunningStats bool     // keep running statistics, and normalise with them in evaluation
}

// NewInstanceNorm1d makes a layer for that many channels.
func NewInstanceNorm1d(channels int, opts ...InstanceNormOptions) *InstanceNorm1d {
	return &InstanceNorm1d{newInstanceNorm(channels, option.One(opts))}
}

// NewInstanceNorm2d makes a layer for that many channels.
func NewInstanceNorm2d(channels int, opts ...InstanceNormOptions) *InstanceNorm2d {
	return &InstanceNorm2d{newInstanceNorm(channels, option.One(opts))}
}

// NewInstanceNorm3d makes a layer for that many channels.
func NewInstanceNorm3d(channels int, opts ...InstanceNormOptions) *InstanceNorm3d {
	return &InstanceNorm3d{newInstanceNorm(channels, option.One(opts))}
}

func newInstanceNorm(channels int, v InstanceNormOptions) InstanceNorm {
	b := newBatchNorm(channels, BatchNormOptions{Eps: v.Eps, Momentum: v.Momentum, NoAffine: !v.Affine,
		NoTrackRunningStats: !v.TrackRunningStats})
	return InstanceNorm{Weight: b.Weight, Bias: b.Bias, RunningMean: b.RunningMean, RunningVar: b.RunningVar,
		NumBatchesTracked: b.NumBatchesTracked, Channels: channels, Eps: b.Eps, Momentum: *b.Momentum}
}

// forward wants x of dims dimensions, or one less for a single example.
func (n *InstanceNorm) forward(op string, x torch.Tensor, dims int) torch.Tensor {
	got := x.Dim()
	if got != dims && got != dims-1 {
		torch.Throw(op, torch.KindValue, "expected %dD or %dD input (got %dD input)", dims-1, dims, got)
	}
	if at := got - dims + 1; x.Size(at) != n.Channels {
		if n.Weight.Defined() {
			torch.Throw(op, torch.KindValue, "expected input's size at dim=%d to match num_features (%d), but got: %d.", at, n.Channels, x.Size(at))
		}
		torch.Warn("input's size at dim=%d does not match num_features. "+
			"You can silence this warning by not passing in num_features, "+
			"which is not used because affine=False", at)
	}
	o := F.InstanceNormOptions{Weight: n.Weight, Bias: n.Bias, RunningMean: n.RunningMean, RunningVar: n.RunningVar,
		UseRunning: !n.Mode.Training() && n.RunningMean.Defined(), Momentum: &n.Momentum, Eps: &n.Eps}
	if got == dims {
		return F.InstanceNorm(x, o)
	}
	return torch.Scope1(func() torch.Tensor { return F.InstanceNorm(x.Unsqueeze(0), o).SqueezeDim(0) })
}

// Forward keeps the shape.
func (n *InstanceNorm1d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(n, x, func(x torch.Tensor) torch.Tensor { return n.forward("instance_norm1d", x, 3) })
}

// Forward keeps the shape.
func (n *InstanceNorm2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(n, x, func(x torch.Tensor) torch.Tensor { return n.forward("instance_norm2d", x, 4) })
}

// Forward keeps the shape.
func (n *InstanceNorm3d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(n, x, func(x torch.Tensor) torch.Tensor { return n.forward("instance_norm3d", x, 5) })
}

// RMSNorm divides by the root of the mean square over the last dimensions (Zhang and
// Sennrich, 2019).
type RMSNorm struct {
	Weight torch.Tensor // of the normalised shape, ones at first
	Shape  []int
	Eps    *float64 // nil: the smallest step from 1 in the input's dtype
}

// RMSNormOptions are the rarer arguments of [NewRMSNorm].
type RMSNormOptions struct {
	Eps                 *float64 // added to the mean square; default: the smallest step from 1 in the input's dtype
	NoElementwiseAffine bool     // no weight
}

// NewRMSNorm makes a layer that normalises over the last dimensions, of the given shape: a list,
// or an integer for one.
func NewRMSNorm[S Shape](shape S, opts ...RMSNormOptions) *RMSNorm {
	v := option.One(opts)
	r := &RMSNorm{Shape: F.Sizes(shape), Eps: v.Eps}
	if !v.NoElementwiseAffine {
		create(func() { r.Weight = torch.Ones(r.Shape...).SetRequiresGrad(true) })
	}
	return r
}

// Forward keeps the shape.
func (r *RMSNorm) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(r, x, func(x torch.Tensor) torch.Tensor {
		return F.RMSNorm(x, r.Shape, F.RMSNormOptions{Weight: r.Weight, Eps: r.Eps})
	})
}

// LocalResponseNormOptions are the rarer arguments of [LocalResponseNorm].
type LocalResponseNormOptions = F.LocalResponseNormOptions

// LocalResponseNorm divides by a power of the mean square of Size neighbouring channels
// (Krizhevsky et al., 2012).
type LocalResponseNorm struct {
	Size    int
	Options LocalResponseNormOptions
}

// Forward keeps the shape, [N, C, L, ...].
func (l LocalResponseNorm) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(l, x, func(x torch.Tensor) torch.Tensor { return F.LocalResponseNorm(x, l.Size, l.Options) })
}
