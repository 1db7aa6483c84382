package functional

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

const (
	defaultEps      = 1e-5
	defaultMomentum = 0.1
)

// BatchNormOptions are the further arguments of [BatchNorm]. All tensors are [C] or
// undefined.
type BatchNormOptions struct {
	RunningMean, RunningVar torch.Tensor // updated where Training, else normalised with
	Weight, Bias            torch.Tensor
	Training                bool     // normalise with the batch's own mean and variance
	Momentum                *float64 // weight of the batch in the running statistics; default 0.1
	Eps                     *float64 // added to the variance; default 1e-5
}

// BatchNorm normalises every channel of x [N, C, ...]: with the mean and the variance of
// the batch in training, with the running ones otherwise.
func BatchNorm(x torch.Tensor, opts ...BatchNormOptions) torch.Tensor {
	v := option.One(opts)
	eps := orFloat(v.Eps, defaultEps)
	if v.Training {
		shape := x.Shape()
		checkBatch("batch_norm", shape, pytext.Size(shape))
	}
	if eps <= 0 {
		torch.Throw("batch_norm", torch.KindValue, "batch_norm eps must be positive, but got %s", pytext.Float(eps))
	}
	return aten.BatchNorm(x, v.Weight, v.Bias, v.RunningMean, v.RunningVar, v.Training, orFloat(v.Momentum, defaultMomentum), eps)
}

// checkBatch requires more than one value in each channel, because one value has no
// variance.
func checkBatch(op string, shape []int, text string) {
	n := 1
	for i, size := range shape {
		if i != 1 {
			n *= size
		}
	}
	if n == 1 {
		torch.Throw(op, torch.KindValue, "Expected more than 1 value per channel when training, got input size %s", text)
	}
}

// LayerNormOptions are the rarer arguments of [LayerNorm].
type LayerNormOptions struct {
	Weight, Bias torch.Tensor // of the normalised shape; default: none
	Eps          *float64     // added to the variance; default 1e-5
}

// LayerNorm normalises x over its last dimensions, whose sizes are shape: a list, or an integer
// for one.
func LayerNorm[S Shape](x torch.Tensor, shape S, opts ...LayerNormOptions) torch.Tensor {
	v := option.One(opts)
	return aten.LayerNorm(x, Sizes(shape), aten.LayerNormOptions{Weight: v.Weight, Bias: v.Bias, Eps: v.Eps})
}

// GroupNormOptions are the rarer arguments of [GroupNorm].
type GroupNormOptions struct {
	Weight, Bias torch.Tensor // [C]; default: none
	Eps          *float64     // added to the variance; default 1e-5
}

// GroupNorm normalises x [N, C, ...] over each of the groups that its channels are divided
// into.
func GroupNorm(x torch.Tensor, groups int, opts ...GroupNormOptions) torch.Tensor {
	const op = "group_norm"
	v := option.One(opts)
	shape := x.Shape()
	if len(shape) < 2 {
		torch.Throw(op, torch.KindGeneric, "Expected at least 2 dimensions for input tensor but received %d", len(shape))
	}
	if groups > 0 {
		perGroup := append([]int{shape[0] * shape[1] / groups, groups}, shape[2:]...)
		checkBatch(op, perGroup, pytext.List(perGroup))
	}
	return aten.GroupNorm(x, groups, aten.GroupNormOptions{Weight: v.Weight, Bias: v.Bias, Eps: v.Eps})
}

// InstanceNormOptions are the rarer arguments of [InstanceNorm]. All tensors are [C] or
// undefined.
type InstanceNormOptions struct {
	RunningMean, RunningVar torch.Tensor // updated, or normalised with where UseRunning
	Weight, Bias            torch.Tensor
	UseRunning              bool     // normalise with the running statistics; default: with x's own
	Momentum                *float64 // weight of x in the running statistics; default 0.1
	Eps                     *float64 // added to the variance; default 1e-5
}

// InstanceNorm normalises every channel of every example of x [N, C, ...] by itself.
func InstanceNorm(x torch.Tensor, opts ...InstanceNormOptions) torch.Tensor {
	v := option.One(opts)
	if !v.UseRunning {
		shape := x.Shape()
		n := 1
		for _, size := range shape[min(2, len(shape)):] {
			n *= size
		}
		if n == 1 {
			torch.Throw("instance_norm", torch.KindValue, "Expected more than 1 spatial element when training, got input size %s",
				pytext.Size(shape))
		}
	}
	return aten.InstanceNorm(x, v.Weight, v.Bias, v.RunningMean, v.RunningVar, !v.UseRunning, orFloat(v.Momentum, defaultMomentum),
		orFloat(v.Eps, defaultEps))
}

// RMSNormOptions are the rarer arguments of [RMSNorm].
type RMSNormOptions struct {
	Weight torch.Tensor // of the normalised shape; default: none
	Eps    *float64     // added to the mean square; default: the smallest step from 1 in x's dtype
}

// RMSNorm divides x by the root of its mean square over its last dimensions, whose sizes
// are shape.
func RMSNorm[S Shape](x torch.Tensor, shape S, opts ...RMSNormOptions) torch.Tensor {
	v := option.One(opts)
	return aten.RMSNorm(x, Sizes(shape), aten.RMSNormOptions{Weight: v.Weight, Eps: v.Eps})
}

// LocalResponseNormOptions are the rarer arguments of [LocalResponseNorm].
type LocalResponseNormOptions struct {
	Alpha *float64 // factor of the mean square; default 1e-4
	Beta  *float64 // power of the divisor; default 0.75
	K     *float64 // added to the divisor; default 1
}

// LocalResponseNorm divides x [N, C, L, ...] by (k + alpha*m)^beta, m being the mean square
// of size neighbouring channels.
func LocalResponseNorm(x torch.Tensor, size int, opts ...LocalResponseNormOptions) torch.Tensor {
	v := option.One(opts)
	shape := x.Shape()
	if len(shape) < 3 {
		torch.Throw("local_response_norm", torch.KindValue,
			"Expected 3D or higher dimensionality                          input (got %d dimensions)", len(shape))
	}
	if x.NumEl() == 0 {
		return x.Alias()
	}
	before, after := size/2, (size-1)/2
	return torch.Scope1(func() torch.Tensor {
		div := x.Mul(x)
		if len(shape) == 3 {
			div = aten.Pad(div.Unsqueeze(1), []int{0, 0, before, after})
			div = AvgPool2d(div, []int{size, 1}, AvgPoolOptions{Stride: 1}).SqueezeDim(1)
		} else {
			div = aten.Pad(div.View(shape[0], 1, shape[1], shape[2], -1), []int{0, 0, 0, 0, before, after})
			div = AvgPool3d(div, []int{size, 1, 1}, AvgPoolOptions{Stride: 1}).SqueezeDim(1).View(shape...)
		}
		return x.Div(div.MulScalar(orFloat(v.Alpha, 1e-4)).AddScalar(orFloat(v.K, 1)).PowScalar(orFloat(v.Beta, 0.75)))
	})
}

// NormalizeOptions are the rarer arguments of [Normalize].
type NormalizeOptions struct {
	P   *float64 // which norm; default 2
	Dim *int     // along which the vectors lie; default 1
	Eps *float64 // the least divisor; default 1e-12
}

// Normalize divides the vectors along a dimension of x by their norms.
func Normalize(x torch.Tensor, opts ...NormalizeOptions) torch.Tensor {
	v := option.One(opts)
	dim := 1
	if v.Dim != nil {
		dim = *v.Dim
	}
	return torch.Scope1(func() torch.Tensor {
		norm := linalg.VectorNorm(x, linalg.VectorNormOptions{Ord: orFloat(v.P, 2), Dim: []int{dim}, KeepDim: true})
		return x.Div(norm.ClampMin(orFloat(v.Eps, 1e-12)).ExpandAs(x))
	})
}

func orFloat(v *float64, def float64) float64 {
	if v == nil {
		return def
	}
	return *v
}
