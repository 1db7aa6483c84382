package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// CrossEntropyOptions are the rarer arguments of [CrossEntropy].
type CrossEntropyOptions struct {
	Weight         torch.Tensor    // [C], of each class; default: all alike
	IgnoreIndex    *int            // targets to pass over; default -100
	Reduction      torch.Reduction // default mean
	LabelSmoothing float64         // part of the target that is spread over all classes; default 0
}

// CrossEntropy is how badly the scores x [N, C] or [N, C, ...] predict target: class
// numbers [N] or [N, ...] (int64), or probabilities of x's shape. Scores need no softmax.
func CrossEntropy(x, target torch.Tensor, o *CrossEntropyOptions) torch.Tensor {
	v := or(o)
	return torch.CrossEntropyLoss(x, target, torch.CrossEntropyLossOptions{
		Weight: v.Weight, Reduction: v.Reduction, IgnoreIndex: v.IgnoreIndex, LabelSmoothing: v.LabelSmoothing})
}

// NLLLossOptions are the rarer arguments of [NLLLoss].
type NLLLossOptions struct {
	Weight      torch.Tensor    // [C], of each class; default: all alike
	IgnoreIndex *int            // targets to pass over; default -100
	Reduction   torch.Reduction // default mean
}

// NLLLoss is the negative log likelihood of target, class numbers [N] or [N, ...], given
// logarithms of probabilities x [N, C] or [N, C, ...].
func NLLLoss(x, target torch.Tensor, o *NLLLossOptions) torch.Tensor {
	v := or(o)
	return torch.NLLLossND(x, target, torch.NLLLossNDOptions{Weight: v.Weight, Reduction: v.Reduction, IgnoreIndex: v.IgnoreIndex})
}

// LossOptions are the rarer arguments of losses that have but one.
type LossOptions struct {
	Reduction torch.Reduction // default mean
}

// MSELoss is (x-target)². The two are broadcast to each other.
func MSELoss(x, target torch.Tensor, o *LossOptions) torch.Tensor {
	return broadcast(x, target, func(x, target torch.Tensor) torch.Tensor {
		return torch.MSELoss(x, target, or(o).Reduction)
	})
}

// L1Loss is |x-target|. The two are broadcast to each other.
func L1Loss(x, target torch.Tensor, o *LossOptions) torch.Tensor {
	return broadcast(x, target, func(x, target torch.Tensor) torch.Tensor {
		return torch.L1Loss(x, target, or(o).Reduction)
	})
}

// SmoothL1LossOptions are the rarer arguments of [SmoothL1Loss].
type SmoothL1LossOptions struct {
	Reduction torch.Reduction // default mean
	Beta      *float64        // where the square ends and the line begins; default 1
}

// SmoothL1Loss is d²/(2*beta) where d = |x-target| is below beta, d - beta/2 elsewhere.
func SmoothL1Loss(x, target torch.Tensor, o *SmoothL1LossOptions) torch.Tensor {
	v := or(o)
	return broadcast(x, target, func(x, target torch.Tensor) torch.Tensor {
		if v.Beta != nil && *v.Beta == 0 {
			return torch.L1Loss(x, target, v.Reduction)
		}
		return torch.SmoothL1Loss(x, target, torch.SmoothL1LossOptions{Reduction: v.Reduction, Beta: v.Beta})
	})
}

// HuberLossOptions are the rarer arguments of [HuberLoss].
type HuberLossOptions struct {
	Reduction torch.Reduction // default mean
	Delta     *float64        // where the square ends and the line begins; default 1
}

// HuberLoss is d²/2 where d = |x-target| is below delta, delta*(d - delta/2) elsewhere.
func HuberLoss(x, target torch.Tensor, o *HuberLossOptions) torch.Tensor {
	v := or(o)
	return broadcast(x, target, func(x, target torch.Tensor) torch.Tensor {
		return torch.HuberLoss(x, target, torch.HuberLossOptions{Reduction: v.Reduction, Delta: v.Delta})
	})
}

// BCEOptions are the rarer arguments of [BinaryCrossEntropy].
type BCEOptions struct {
	Weight    torch.Tensor    // of each element, broadcast to it; default: all alike
	Reduction torch.Reduction // default mean
}

// BinaryCrossEntropy is the cross entropy of probabilities x and target, of one shape.
func BinaryCrossEntropy(x, target torch.Tensor, o *BCEOptions) torch.Tensor {
	v := or(o)
	sameShape("binary_cross_entropy", x, target)
	return torch.BinaryCrossEntropy(x, target, torch.BinaryCrossEntropyOptions{Weight: v.Weight, Reduction: v.Reduction})
}

// BCEWithLogitsOptions are the rarer arguments of [BinaryCrossEntropyWithLogits].
type BCEWithLogitsOptions struct {
	Weight    torch.Tensor    // of each element, broadcast to it; default: all alike
	PosWeight torch.Tensor    // of positive targets, per class; default: 1
	Reduction torch.Reduction // default mean
}

// BinaryCrossEntropyWithLogits is [BinaryCrossEntropy] of sigmoid(x), computed without
// overflow.
func BinaryCrossEntropyWithLogits(x, target torch.Tensor, o *BCEWithLogitsOptions) torch.Tensor {
	v := or(o)
	sameShape("binary_cross_entropy_with_logits", x, target)
	return torch.BinaryCrossEntropyWithLogits(x, target, torch.BinaryCrossEntropyWithLogitsOptions{
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
func KLDiv(x, target torch.Tensor, o *KLDivOptions) torch.Tensor {
	v := or(o)
	if v.BatchMean {
		v.Reduction = torch.ReductionSum
	}
	loss := torch.KLDiv(x, target, torch.KLDivOptions{Reduction: v.Reduction, LogTarget: v.LogTarget})
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
	both := torch.BroadcastTensors(x, target)
	defer torch.Close(both...)
	return fn(both[0], both[1])
}

func sameShape(op string, x, target torch.Tensor) {
	if a, b := x.Shape(), target.Shape(); !slices.Equal(a, b) {
		torch.Throw(op, torch.KindValue, "input and target differ in shape: %v and %v", a, b)
	}
}
