package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// The losses are their functions with the options as fields: the zero value is PyTorch's
// default. Weights are buffers, under PyTorch's names; make those that are to outlive a scope
// with [NewBuffer]:
//
//	loss := nn.CrossEntropyLoss{Weight: nn.NewBuffer(w), LabelSmoothing: 0.1}
//	loss.Forward(scores, target).Backward()
type (
	// L1Loss is |x-target|: [F.L1Loss].
	L1Loss F.LossOptions
	// MSELoss is (x-target)²: [F.MSELoss].
	MSELoss F.LossOptions
	// SmoothL1Loss is a square near 0 and a line elsewhere: [F.SmoothL1Loss].
	SmoothL1Loss F.SmoothL1LossOptions
	// HuberLoss is a square near 0 and a line elsewhere, of slope Delta: [F.HuberLoss].
	HuberLoss struct {
		Reduction torch.Reduction // default mean
		Delta     *float64        // where the square ends and the line begins; default 1
	}

	// CrossEntropyLoss is how badly scores predict classes: [F.CrossEntropy].
	CrossEntropyLoss F.CrossEntropyOptions
	// NLLLoss is the negative log likelihood of classes: [F.NLLLoss].
	NLLLoss F.NLLLossOptions
	// BCELoss is the cross entropy of probabilities: [F.BinaryCrossEntropy].
	BCELoss F.BCEOptions
	// BCEWithLogitsLoss is the cross entropy of scores, to which it applies the
	// sigmoid: [F.BinaryCrossEntropyWithLogits].
	BCEWithLogitsLoss F.BCEWithLogitsOptions
	// KLDivLoss is the Kullback-Leibler divergence: [F.KLDiv].
	KLDivLoss F.KLDivOptions
	// PoissonNLLLoss is the negative log likelihood of counts: [F.PoissonNLLLoss].
	PoissonNLLLoss F.PoissonNLLLossOptions
	// GaussianNLLLoss is the negative log likelihood of numbers: [F.GaussianNLLLoss].
	GaussianNLLLoss F.GaussianNLLLossOptions
	// CTCLoss is how badly a sequence of predictions is aligned with labels: [F.CTCLoss].
	CTCLoss F.CTCLossOptions

	// SoftMarginLoss is log(1 + exp(-target*x)): [F.SoftMarginLoss].
	SoftMarginLoss F.LossOptions
	// MultiLabelMarginLoss wants classes to exceed others by 1: [F.MultilabelMarginLoss].
	MultiLabelMarginLoss F.LossOptions
	// MultiLabelSoftMarginLoss is the mean cross entropy of several labels:
	// [F.MultilabelSoftMarginLoss].
	MultiLabelSoftMarginLoss F.WeightedLossOptions
	// MultiMarginLoss wants a class to exceed others by a margin: [F.MultiMarginLoss].
	MultiMarginLoss F.MultiMarginLossOptions
	// MarginRankingLoss wants one of two to be the larger: [F.MarginRankingLoss].
	MarginRankingLoss F.MarginRankingLossOptions
	// HingeEmbeddingLoss wants a distance to be small or large: [F.HingeEmbeddingLoss].
	HingeEmbeddingLoss F.HingeEmbeddingLossOptions
	// CosineEmbeddingLoss wants an angle to be small or large: [F.CosineEmbeddingLoss].
	CosineEmbeddingLoss F.CosineEmbeddingLossOptions
	// TripletMarginLoss wants one of two to be nearer: [F.TripletMarginLoss].
	TripletMarginLoss F.TripletMarginLossOptions
	// TripletMarginWithDistanceLoss is [TripletMarginLoss] with a distance of one's own:
	// [F.TripletMarginWithDistanceLoss].
	TripletMarginWithDistanceLoss F.TripletMarginWithDistanceLossOptions
)

// Forward is [F.L1Loss].
func (l L1Loss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.L1Loss(x, target, F.WeightedLossOptions{Reduction: l.Reduction})
}

// Forward is [F.MSELoss].
func (l MSELoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.MSELoss(x, target, F.WeightedLossOptions{Reduction: l.Reduction})
}

// Forward is [F.SmoothL1Loss].
func (l SmoothL1Loss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.SmoothL1Loss(x, target, F.SmoothL1LossOptions(l))
}

// Forward is [F.HuberLoss].
func (l HuberLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.HuberLoss(x, target, F.HuberLossOptions{Reduction: l.Reduction, Delta: l.Delta})
}

// Forward is [F.CrossEntropy].
func (l CrossEntropyLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.CrossEntropy(x, target, F.CrossEntropyOptions(l))
}

// Forward is [F.NLLLoss].
func (l NLLLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.NLLLoss(x, target, F.NLLLossOptions(l))
}

// Forward is [F.BinaryCrossEntropy].
func (l BCELoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.BinaryCrossEntropy(x, target, F.BCEOptions(l))
}

// Forward is [F.BinaryCrossEntropyWithLogits].
func (l BCEWithLogitsLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.BinaryCrossEntropyWithLogits(x, target, F.BCEWithLogitsOptions(l))
}

// Forward is [F.KLDiv].
func (l KLDivLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.KLDiv(x, target, F.KLDivOptions(l))
}

// Forward is [F.PoissonNLLLoss].
func (l PoissonNLLLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.PoissonNLLLoss(x, target, F.PoissonNLLLossOptions(l))
}

// Forward is [F.SoftMarginLoss].
func (l SoftMarginLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.SoftMarginLoss(x, target, F.LossOptions(l))
}

// Forward is [F.MultilabelMarginLoss].
func (l MultiLabelMarginLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.MultilabelMarginLoss(x, target, F.LossOptions(l))
}

// Forward is [F.MultilabelSoftMarginLoss].
func (l MultiLabelSoftMarginLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.MultilabelSoftMarginLoss(x, target, F.WeightedLossOptions(l))
}

// Forward is [F.MultiMarginLoss].
func (l MultiMarginLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.MultiMarginLoss(x, target, F.MultiMarginLossOptions(l))
}

// Forward is [F.HingeEmbeddingLoss].
func (l HingeEmbeddingLoss) Forward(x, target torch.Tensor) torch.Tensor {
	return F.HingeEmbeddingLoss(x, target, F.HingeEmbeddingLossOptions(l))
}

// Forward is [F.GaussianNLLLoss].
func (l GaussianNLLLoss) Forward(x, target, variance torch.Tensor) torch.Tensor {
	return F.GaussianNLLLoss(x, target, variance, F.GaussianNLLLossOptions(l))
}

// Forward is [F.MarginRankingLoss].
func (l MarginRankingLoss) Forward(x1, x2, target torch.Tensor) torch.Tensor {
	return F.MarginRankingLoss(x1, x2, target, F.MarginRankingLossOptions(l))
}

// Forward is [F.CosineEmbeddingLoss].
func (l CosineEmbeddingLoss) Forward(x1, x2, target torch.Tensor) torch.Tensor {
	return F.CosineEmbeddingLoss(x1, x2, target, F.CosineEmbeddingLossOptions(l))
}

// Forward is [F.TripletMarginLoss].
func (l TripletMarginLoss) Forward(anchor, positive, negative torch.Tensor) torch.Tensor {
	return F.TripletMarginLoss(anchor, positive, negative, F.TripletMarginLossOptions(l))
}

// Forward is [F.TripletMarginWithDistanceLoss].
func (l TripletMarginWithDistanceLoss) Forward(anchor, positive, negative torch.Tensor) torch.Tensor {
	return F.TripletMarginWithDistanceLoss(anchor, positive, negative, F.TripletMarginWithDistanceLossOptions(l))
}

// Forward is [F.CTCLoss].
func (l CTCLoss) Forward(logProbs, targets torch.Tensor, inputLengths, targetLengths []int) torch.Tensor {
	return F.CTCLoss(logProbs, targets, inputLengths, targetLengths, F.CTCLossOptions(l))
}

// ForwardTensor is [F.CTCLossTensor].
func (l CTCLoss) ForwardTensor(logProbs, targets, inputLengths, targetLengths torch.Tensor) torch.Tensor {
	return F.CTCLossTensor(logProbs, targets, inputLengths, targetLengths, F.CTCLossOptions(l))
}
