package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

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
	b := newBatchNorm(channels, BatchNormOptions{Eps: v.Eps, Momentum: v.Momentum, NoAffine: !v.Affine, NoTrackRunningStats: !v.TrackRunningStats})
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
