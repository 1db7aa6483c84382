package functional

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// LossOptions are the rarer arguments of losses that have but one.
type LossOptions struct {
	Reduction torch.Reduction // default mean
}

// SoftMarginLoss is log(1 + exp(-target*x)), target being 1 or -1. Both have one shape.
func SoftMarginLoss(x, target torch.Tensor, opts ...LossOptions) torch.Tensor {
	return aten.SoftMarginLoss(x, target, aten.SoftMarginLossOptions{Reduction: option.One(opts).Reduction})
}

// MultilabelMarginLoss wants the scores x [N, C] or [C] of the classes in target to exceed
// those of all others by 1. A row of target (int64, in x's shape) lists its classes and ends
// them by -1.
func MultilabelMarginLoss(x, target torch.Tensor, opts ...LossOptions) torch.Tensor {
	return aten.MultilabelMarginLoss(x, target, aten.MultilabelMarginLossOptions{Reduction: option.One(opts).Reduction})
}

// MultilabelSoftMarginLoss is the mean over the last dimension of the binary cross entropy
// of sigmoid(x) and target, both [..., C]. A weight is broadcast to them.
func MultilabelSoftMarginLoss(x, target torch.Tensor, opts ...WeightedLossOptions) torch.Tensor {
	v := option.One(opts)
	return torch.Scope1(func() torch.Tensor {
		yes := target.Mul(aten.LogSigmoid(x))
		no := torch.RSubScalar(target, 1).Mul(aten.LogSigmoid(x.Neg()))
		loss := yes.Add(no).Neg()
		if v.Weight.Defined() {
			loss = loss.Mul(v.Weight)
		}
		last := x.Dim() - 1
		loss = loss.SumDim([]int{last}).DivScalar(x.Size(last))
		return reduce(loss, v.Reduction)
	})
}

// MultiMarginLossOptions are the rarer arguments of [MultiMarginLoss].
type MultiMarginLossOptions struct {
	P         int             // power of what is missing from the margin, 1 or 2; default 1
	Margin    *float64        // default 1
	Weight    torch.Tensor    `torch:",buffer"` // [C], of each class; default: all alike
	Reduction torch.Reduction // default mean
}

// MultiMarginLoss wants the score of the class that target names to exceed all other scores
// by a margin: x is [N, C] or [C], target (int64) is [N] or [].
func MultiMarginLoss(x, target torch.Tensor, opts ...MultiMarginLossOptions) torch.Tensor {
	const op = "multi_margin_loss"
	v := option.One(opts)
	if v.P == 0 {
		v.P = 1
	}
	switch {
	case v.P != 1 && v.P != 2:
		torch.Throw(op, torch.KindValue, "only p == 1 and p == 2 supported")
	case v.Weight.Defined() && v.Weight.Dim() != 1:
		torch.Throw(op, torch.KindValue, "weight must be one-dimensional")
	}
	return aten.MultiMarginLoss(x, target, aten.MultiMarginLossOptions{
		P: v.P, Margin: orFloat(v.Margin, 1), Weight: v.Weight, Reduction: v.Reduction})
}

// MarginRankingLossOptions are the rarer arguments of [MarginRankingLoss]: Margin, by
// default 0, and Reduction.
type MarginRankingLossOptions = aten.MarginRankingLossOptions

// MarginRankingLoss is max(0, -target*(x1-x2) + margin): target is 1 where x1 should be the
// larger, -1 where x2 should. All have as many dimensions, and are broadcast.
func MarginRankingLoss(x1, x2, target torch.Tensor, opts ...MarginRankingLossOptions) torch.Tensor {
	const op = "margin_ranking_loss"
	v := option.One(opts)
	if n := x1.Dim(); n != x2.Dim() || n != target.Dim() {
		torch.Throw(op, torch.KindGeneric,
			"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: %s, input2: %s, target: %s ",
			pytext.Size(x1.Shape()), pytext.Size(x2.Shape()), pytext.Size(target.Shape()))
	}
	return aten.MarginRankingLoss(x1, x2, target, v)
}

// HingeEmbeddingLossOptions are the rarer arguments of [HingeEmbeddingLoss]: Margin, by
// default 1, and Reduction.
type HingeEmbeddingLossOptions = aten.HingeEmbeddingLossOptions

// HingeEmbeddingLoss is x where target is 1 and max(0, margin-x) where target is -1: x is
// the distance of a pair that should be alike, or not. Both have one shape.
func HingeEmbeddingLoss(x, target torch.Tensor, opts ...HingeEmbeddingLossOptions) torch.Tensor {
	v := option.One(opts)
	return aten.HingeEmbeddingLoss(x, target, v)
}

// CosineEmbeddingLossOptions are the rarer arguments of [CosineEmbeddingLoss]: Margin, by
// default 0, and Reduction.
type CosineEmbeddingLossOptions = aten.CosineEmbeddingLossOptions

// CosineEmbeddingLoss is 1-c where target is 1 and max(0, c-margin) where target is -1, c
// being the cosine of the angle between x1 and x2: [N, D] with target [N], or [D] with [].
func CosineEmbeddingLoss(x1, x2, target torch.Tensor, opts ...CosineEmbeddingLossOptions) torch.Tensor {
	v := option.One(opts)
	return aten.CosineEmbeddingLoss(x1, x2, target, v)
}

// TripletMarginLossOptions are the rarer arguments of [TripletMarginLoss].
type TripletMarginLossOptions struct {
	Margin    float64         // above 0; default 1
	P         *float64        // the distance's norm; default 2
	Eps       *float64        // added to the differences; default 1e-6
	Swap      bool            // measure negative from positive, if that is nearer than anchor
	Reduction torch.Reduction // default mean
}

// TripletMarginLoss is max(0, d(anchor, positive) - d(anchor, negative) + margin), where d
// is the distance of two vectors: all are [N, D] or [D].
func TripletMarginLoss(anchor, positive, negative torch.Tensor, opts ...TripletMarginLossOptions) torch.Tensor {
	const op = "triplet_margin_loss"
	v := option.One(opts)
	margin := tripletMargin(op, v.Margin)
	return aten.TripletMarginLoss(anchor, positive, negative, aten.TripletMarginLossOptions{
		Margin: &margin, P: v.P, Eps: v.Eps, Swap: v.Swap, Reduction: v.Reduction})
}

// TripletMarginWithDistanceLossOptions are the rarer arguments of
// [TripletMarginWithDistanceLoss].
type TripletMarginWithDistanceLossOptions struct {
	DistanceFunction func(a, b torch.Tensor) torch.Tensor // default [PairwiseDistance]
	Margin           float64                              // above 0; default 1
	Swap             bool                                 // measure negative from positive, if that is nearer than anchor
	Reduction        torch.Reduction                      // default mean
}

// TripletMarginWithDistanceLoss is [TripletMarginLoss] with a distance of one's own. What
// the distance makes is closed with the function's other intermediate tensors.
func TripletMarginWithDistanceLoss(anchor, positive, negative torch.Tensor, opts ...TripletMarginWithDistanceLossOptions) torch.Tensor {
	const op = "triplet_margin_with_distance_loss"
	v := option.One(opts)
	margin := tripletMargin(op, v.Margin)
	if a, p, n := anchor.Dim(), positive.Dim(), negative.Dim(); a != p || p != n {
		torch.Throw(op, torch.KindGeneric,
			"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, "+
				"positive %dD, and negative %dD inputs", a, p, n)
	}
	distance := v.DistanceFunction
	if distance == nil {
		distance = func(a, b torch.Tensor) torch.Tensor { return aten.PairwiseDistance(a, b) }
	}
	return torch.Scope1(func() torch.Tensor {
		near, far := distance(anchor, positive), distance(anchor, negative)
		if v.Swap {
			far = far.Minimum(distance(positive, negative))
		}
		loss := near.AddScalar(margin).Sub(far).ClampMin(0)
		return reduce(loss, v.Reduction)
	})
}

func tripletMargin(op string, margin float64) float64 {
	if margin == 0 {
		return 1
	}
	if margin < 0 {
		torch.Throw(op, torch.KindValue, "margin must be greater than 0, got %s", pytext.Float(margin))
	}
	return margin
}
