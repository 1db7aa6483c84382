package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// CrossEntropyOptions are the rarer arguments of [CrossEntropy].
type CrossEntropyOptions struct {
	Weight         torch.Tensor    `torch:",buffer"` // [C], of each class; default: all alike
	IgnoreIndex    *int            // targets to pass over; default -100
	Reduction      torch.Reduction // default mean
	LabelSmoothing float64         // part of the target that is spread over all classes; default 0
}

// CrossEntropy is how badly the scores x [N, C] or [N, C, ...] predict target: class
// numbers [N] or [N, ...] (int64), or probabilities of x's shape. Scores need no softmax.
func CrossEntropy(x, target torch.Tensor, opts ...CrossEntropyOptions) torch.Tensor {
	v := option.One(opts)
	return aten.CrossEntropyLoss(x, target, aten.CrossEntropyLossOptions{
		Weight: v.Weight, Reduction: v.Reduction, IgnoreIndex: v.IgnoreIndex, LabelSmoothing: v.LabelSmoothing})
}

// NLLLossOptions are the rarer arguments of [NLLLoss].
type NLLLossOptions struct {
	Weight      torch.Tensor    `torch:",buffer"` // [C], of each class; default: all alike
	IgnoreIndex *int            // targets to pass over; default -100
	Reduction   torch.Reduction // default mean
}

// NLLLoss is the negative log likelihood of target, class numbers [N] or [N, ...], given
// logarithms of probabilities x [N, C] or [N, C, ...].
func NLLLoss(x, target torch.Tensor, opts ...NLLLossOptions) torch.Tensor {
	v := option.One(opts)
	return aten.NLLLossND(x, target, aten.NLLLossNDOptions{Weight: v.Weight, Reduction: v.Reduction, IgnoreIndex: v.IgnoreIndex})
}

// WeightedLossOptions are the rarer arguments of losses with a weight for each element.
type WeightedLossOptions struct {
	Weight    torch.Tensor    `torch:",buffer"` // of each element; default: all alike
	Reduction torch.Reduction // default mean
}

// MSELoss is (x-target)². The two are broadcast to each other; a weight has x's shape, and
// the mean is then the weighted one.
func MSELoss(x, target torch.Tensor, opts ...WeightedLossOptions) torch.Tensor {
	const op = "mse_loss"
	v := option.One(opts)
	return broadcast(x, target, func(a, b torch.Tensor) torch.Tensor {
		if !v.Weight.Defined() {
			return aten.MSELoss(a, b, aten.MSELossOptions{Reduction: v.Reduction})
		}
		sameSizeWeight(op, v.Weight, x)
		return torch.Scope1(func() torch.Tensor {
			loss := a.Sub(b).PowScalar(2).Mul(v.Weight)
			return weightedMean(loss, v.Weight, v.Reduction)
		})
	})
}

// L1Loss is |x-target|. The two are broadcast to each other; a weight has x's shape, and
// the mean is then the weighted one.
func L1Loss(x, target torch.Tensor, opts ...WeightedLossOptions) torch.Tensor {
	const op = "l1_loss"
	v := option.One(opts)
	return broadcast(x, target, func(a, b torch.Tensor) torch.Tensor {
		if !v.Weight.Defined() {
			return aten.L1Loss(a, b, aten.L1LossOptions{Reduction: v.Reduction})
		}
		sameSizeWeight(op, v.Weight, x)
		return torch.Scope1(func() torch.Tensor {
			loss := a.Sub(b).Abs().Mul(v.Weight)
			return weightedMean(loss, v.Weight, v.Reduction)
		})
	})
}

// SmoothL1LossOptions are the rarer arguments of [SmoothL1Loss].
type SmoothL1LossOptions struct {
	Reduction torch.Reduction // default mean
	Beta      *float64        // where the square ends and the line begins; default 1
}

// SmoothL1Loss is d²/(2*beta) where d = |x-target| is below beta, d - beta/2 elsewhere.
func SmoothL1Loss(x, target torch.Tensor, opts ...SmoothL1LossOptions) torch.Tensor {
	v := option.One(opts)
	return broadcast(x, target, func(x, target torch.Tensor) torch.Tensor {
		if v.Beta != nil && *v.Beta == 0 {
			return aten.L1Loss(x, target, aten.L1LossOptions{Reduction: v.Reduction})
		}
		return aten.SmoothL1Loss(x, target, aten.SmoothL1LossOptions{Reduction: v.Reduction, Beta: v.Beta})
	})
}

// HuberLossOptions are the rarer arguments of [HuberLoss].
type HuberLossOptions struct {
	Weight    torch.Tensor    // of each element, in x's shape; default: all alike
	Reduction torch.Reduction // default mean
	Delta     *float64        // where the square ends and the line begins; default 1
}

// HuberLoss is d²/2 where d = |x-target| is below delta, delta*(d - delta/2) elsewhere.
func HuberLoss(x, target torch.Tensor, opts ...HuberLossOptions) torch.Tensor {
	const op = "huber_loss"
	v := option.One(opts)
	return broadcast(x, target, func(a, b torch.Tensor) torch.Tensor {
		if !v.Weight.Defined() {
			return aten.HuberLoss(a, b, aten.HuberLossOptions{Reduction: v.Reduction, Delta: v.Delta})
		}
		sameSizeWeight(op, v.Weight, x)
		return torch.Scope1(func() torch.Tensor {
			loss := aten.HuberLoss(a, b, aten.HuberLossOptions{Reduction: torch.ReductionNone, Delta: v.Delta})
			return reduce(loss.Mul(v.Weight), v.Reduction)
		})
	})
}

// BCEOptions are the rarer arguments of [BinaryCrossEntropy].
type BCEOptions struct {
	Weight    torch.Tensor    `torch:",buffer"` // of each element, broadcast to it; default: all alike
	Reduction torch.Reduction // default mean
}

// BinaryCrossEntropy is the cross entropy of probabilities x and target, of one shape.
func BinaryCrossEntropy(x, target torch.Tensor, opts ...BCEOptions) torch.Tensor {
	const op = "binary_cross_entropy"
	v := option.One(opts)
	a, b := target.Shape(), x.Shape()
	if !slices.Equal(a, b) {
		torch.Throw(op, torch.KindValue,
			"Using a target size (%s) that is different to the input size (%s) is deprecated. Please ensure they have the same size.",
			pytext.Size(a), pytext.Size(b))
	}
	if v.Weight.Defined() {
		v.Weight = v.Weight.Expand(inferSize(op, a, v.Weight.Shape())...)
		defer v.Weight.Close()
	}
	return aten.BinaryCrossEntropy(x, target, aten.BinaryCrossEntropyOptions{Weight: v.Weight, Reduction: v.Reduction})
}

// BCEWithLogitsOptions are the rarer arguments of [BinaryCrossEntropyWithLogits].
type BCEWithLogitsOptions struct {
	Weight    torch.Tensor    `torch:",buffer"` // of each element, broadcast to it; default: all alike
	PosWeight torch.Tensor    `torch:",buffer"` // of positive targets, per class; default: 1
	Reduction torch.Reduction // default mean
}

// BinaryCrossEntropyWithLogits is [BinaryCrossEntropy] of sigmoid(x), computed without
// overflow.
func BinaryCrossEntropyWithLogits(x, target torch.Tensor, opts ...BCEWithLogitsOptions) torch.Tensor {
	const op = "binary_cross_entropy_with_logits"
	v := option.One(opts)
	if a, b := target.Shape(), x.Shape(); !slices.Equal(a, b) {
		torch.Throw(op, torch.KindValue, "Target size (%s) must be the same as input size (%s)", pytext.Size(a), pytext.Size(b))
	}
	return aten.BinaryCrossEntropyWithLogits(x, target, aten.BinaryCrossEntropyWithLogitsOptions{
		Weight: v.Weight, PosWeight: v.PosWeight, Reduction: v.Reduction})
}

// KLDivOptions are the rarer arguments of [KLDiv].
type KLDivOptions struct {
	Reduction torch.Reduction // default mean: over all elements
	BatchMean bool            // the sum divided by the batch size, the divergence proper
	LogTarget bool            // target holds logarithms too
}

// KLDiv is the Kullback-Leibler divergence of target, probabilities, from x, logarithms of
// probabilities.
func KLDiv(x, target torch.Tensor, opts ...KLDivOptions) torch.Tensor {
	v := option.One(opts)
	if v.Reduction == torch.ReductionMean && !v.BatchMean {
		torch.Warn("reduction: 'mean' divides the total loss by both the batch size and the support size." +
			"'batchmean' divides only by the batch size, and aligns with the KL div math definition." +
			"'mean' will be changed to behave the same as 'batchmean' in the next major release.")
	}
	if v.BatchMean {
		v.Reduction = torch.ReductionSum
	}
	loss := aten.KLDiv(x, target, aten.KLDivOptions{Reduction: v.Reduction, LogTarget: v.LogTarget})
	if v.BatchMean && x.Dim() > 0 {
		defer loss.Close()
		return loss.DivScalar(x.Size(0))
	}
	return loss
}

// broadcast calls fn with both tensors in one shape.
func broadcast(x, target torch.Tensor, fn func(x, target torch.Tensor) torch.Tensor) torch.Tensor {
	if slices.Equal(x.Shape(), target.Shape()) {
		return fn(x, target)
	}
	torch.Warn("Using a target size (%s) that is different to the input size (%s). "+
		"This will likely lead to incorrect results due to broadcasting. "+
		"Please ensure they have the same size.", pytext.Size(target.Shape()), pytext.Size(x.Shape()))
	both := torch.BroadcastTensors(x, target)
	defer torch.Close(both...)
	return fn(both[0], both[1])
}
