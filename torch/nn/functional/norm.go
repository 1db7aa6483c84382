package functional

import (
	"github.com/libtorch-go/libtorch/torch"
)

const (
	defaultEps      = 1e-5
	defaultMomentum = 0.1
)

// BatchNormOptions are the arguments of [BatchNorm] besides its input. All tensors are
// [C] or undefined.
type BatchNormOptions struct {
	RunningMean, RunningVar torch.Tensor // updated where Training, else normalised with
	Weight, Bias            torch.Tensor
	Training                bool     // normalise with the batch's own mean and variance
	Momentum                *float64 // weight of the batch in the running statistics; default 0.1
	Eps                     *float64 // added to the variance; default 1e-5
}

// BatchNorm normalises every channel of x [N, C, ...]: with the mean and the variance of
// the batch in training, with the running ones otherwise.
func BatchNorm(x torch.Tensor, o *BatchNormOptions) torch.Tensor {
	v := or(o)
	if v.Training {
		checkBatch("batch_norm", x.Shape(), 1)
	}
	return torch.BatchNorm(x, v.Weight, v.Bias, v.RunningMean, v.RunningVar, v.Training, orFloat(v.Momentum, defaultMomentum), orFloat(v.Eps, defaultEps))
}

// checkBatch wants more than one value to take a variance over.
func checkBatch(op string, shape []int, perChannel int) {
	n := perChannel
	for i, size := range shape {
		if i != 1 {
			n *= size
		}
	}
	if n == 1 {
		torch.Throw(op, torch.KindValue, "training needs more than 1 value per channel, got an input of shape %v", shape)
	}
}

// LayerNormOptions are the rarer arguments of [LayerNorm].
type LayerNormOptions struct {
	Weight, Bias torch.Tensor // of the normalised shape; default: none
	Eps          *float64     // added to the variance; default 1e-5
}

// LayerNorm normalises x over its last dimensions, whose sizes are shape.
func LayerNorm(x torch.Tensor, shape []int, o *LayerNormOptions) torch.Tensor {
	v := or(o)
	return torch.LayerNorm(x, shape, torch.LayerNormOptions{Weight: v.Weight, Bias: v.Bias, Eps: v.Eps})
}

// GroupNormOptions are the rarer arguments of [GroupNorm].
type GroupNormOptions struct {
	Weight, Bias torch.Tensor // [C]; default: none
	Eps          *float64     // added to the variance; default 1e-5
}

// GroupNorm normalises x [N, C, ...] over each of the groups that its channels are divided
// into.
func GroupNorm(x torch.Tensor, groups int, o *GroupNormOptions) torch.Tensor {
	v := or(o)
	return torch.GroupNorm(x, groups, torch.GroupNormOptions{Weight: v.Weight, Bias: v.Bias, Eps: v.Eps})
}

func orFloat(v *float64, def float64) float64 {
	if v == nil {
		return def
	}
	return *v
}
