package functional_test

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// losses are testdata/loss.py's, in its order.
var losses = []function{
	{"cross_entropy", func(i tensors) torch.Tensor { return F.CrossEntropy(i["rows"], i["classes"]) }},
	{"cross_entropy options", func(i tensors) torch.Tensor {
		return F.CrossEntropy(i["rows"], i["classes"], F.CrossEntropyOptions{
			Weight: i["seven"].Detach().Abs(), IgnoreIndex: new(2), Reduction: torch.ReductionSum, LabelSmoothing: 0.1})
	}},
	{"cross_entropy pixels", func(i tensors) torch.Tensor {
		return F.CrossEntropy(i["image"], i["pixels"], F.CrossEntropyOptions{Reduction: torch.ReductionNone})
	}},
	{"cross_entropy probabilities", func(i tensors) torch.Tensor { return F.CrossEntropy(i["rows"], i["rows2"].Softmax(1)) }},
	{"nll_loss", func(i tensors) torch.Tensor { return F.NLLLoss(i["rows"], i["classes"]) }},
	{"nll_loss options", func(i tensors) torch.Tensor {
		return F.NLLLoss(i["rows"], i["classes"],
			F.NLLLossOptions{Weight: i["seven"].Detach().Abs(), IgnoreIndex: new(3), Reduction: torch.ReductionSum})
	}},
	{"mse_loss", func(i tensors) torch.Tensor { return F.MSELoss(i["rows"], i["rows2"]) }},
	{"mse_loss broadcast", func(i tensors) torch.Tensor {
		return F.MSELoss(i["rows"], i["seven"], F.WeightedLossOptions{Reduction: torch.ReductionSum})
	}},
	{"l1_loss", func(i tensors) torch.Tensor {
		return F.L1Loss(i["rows"], i["rows2"], F.WeightedLossOptions{Reduction: torch.ReductionNone})
	}},
	{"smooth_l1_loss", func(i tensors) torch.Tensor {
		return F.SmoothL1Loss(i["rows"], i["rows2"], F.SmoothL1LossOptions{Beta: new(0.5)})
	}},
	{"smooth_l1_loss of beta 0", func(i tensors) torch.Tensor {
		return F.SmoothL1Loss(i["rows"], i["rows2"], F.SmoothL1LossOptions{Beta: new(0.0)})
	}},
	{"huber_loss", func(i tensors) torch.Tensor {
		return F.HuberLoss(i["rows"], i["rows2"], F.HuberLossOptions{Delta: new(0.5), Reduction: torch.ReductionSum})
	}},
	{"binary_cross_entropy", func(i tensors) torch.Tensor {
		return F.BinaryCrossEntropy(i["rows"].Sigmoid(), i["rows2"].Sigmoid(), F.BCEOptions{Weight: i["seven"].Detach().Abs()})
	}},
	{"binary_cross_entropy_with_logits", func(i tensors) torch.Tensor {
		return F.BinaryCrossEntropyWithLogits(i["rows"], i["rows2"].Sigmoid(), F.BCEWithLogitsOptions{PosWeight: i["seven"].Detach().Abs()})
	}},
	{"kl_div", func(i tensors) torch.Tensor {
		return F.KLDiv(i["rows"].LogSoftmax(1), i["rows2"].Softmax(1), F.KLDivOptions{BatchMean: true})
	}},
	{"kl_div log", func(i tensors) torch.Tensor {
		return F.KLDiv(i["rows"].LogSoftmax(1), i["rows2"].LogSoftmax(1), F.KLDivOptions{LogTarget: true})
	}},
	{"mse_loss weighted", func(i tensors) torch.Tensor {
		return F.MSELoss(i["rows"], i["rows2"], F.WeightedLossOptions{Weight: i["rows3"].Exp()})
	}},
	{"mse_loss weighted sum", func(i tensors) torch.Tensor {
		return F.MSELoss(i["rows"], i["seven"], F.WeightedLossOptions{Weight: i["rows3"], Reduction: torch.ReductionSum})
	}},
	{"mse_loss weighted none", func(i tensors) torch.Tensor {
		return F.MSELoss(i["rows"], i["rows2"], F.WeightedLossOptions{Weight: i["rows3"], Reduction: torch.ReductionNone})
	}},
	{"l1_loss weighted", func(i tensors) torch.Tensor {
		return F.L1Loss(i["rows"], i["rows2"], F.WeightedLossOptions{Weight: i["rows3"].Exp()})
	}},
	{"l1_loss weighted none", func(i tensors) torch.Tensor {
		return F.L1Loss(i["rows"], i["rows2"], F.WeightedLossOptions{Weight: i["rows3"], Reduction: torch.ReductionNone})
	}},
	{"huber_loss weighted", func(i tensors) torch.Tensor {
		return F.HuberLoss(i["rows"], i["rows2"], F.HuberLossOptions{Weight: i["rows3"], Delta: new(0.5)})
	}},
	{"huber_loss weighted sum", func(i tensors) torch.Tensor {
		return F.HuberLoss(i["rows"], i["rows2"], F.HuberLossOptions{Weight: i["rows3"], Reduction: torch.ReductionSum})
	}},
	{"binary_cross_entropy none", func(i tensors) torch.Tensor {
		return F.BinaryCrossEntropy(i["rows"].Sigmoid(), i["const_bits"], F.BCEOptions{Reduction: torch.ReductionNone})
	}},
	{"soft_margin_loss", func(i tensors) torch.Tensor { return F.SoftMarginLoss(i["rows"], i["const_signs"]) }},
	{"soft_margin_loss none", func(i tensors) torch.Tensor {
		return F.SoftMarginLoss(i["rows"], i["const_signs"], F.LossOptions{Reduction: torch.ReductionNone})
	}},
	{"multilabel_margin_loss", func(i tensors) torch.Tensor { return F.MultilabelMarginLoss(i["rows"], i["labels"]) }},
	{"multilabel_margin_loss sum", func(i tensors) torch.Tensor {
		return F.MultilabelMarginLoss(i["rows"], i["labels"], F.LossOptions{Reduction: torch.ReductionSum})
	}},
	{"multilabel_soft_margin_loss", func(i tensors) torch.Tensor { return F.MultilabelSoftMarginLoss(i["rows"], i["const_bits"]) }},
	{"multilabel_soft_margin_loss weighted", func(i tensors) torch.Tensor {
		return F.MultilabelSoftMarginLoss(i["rows"], i["rows2"], F.WeightedLossOptions{Weight: i["seven"], Reduction: torch.ReductionSum})
	}},
	{"multilabel_soft_margin_loss none", func(i tensors) torch.Tensor {
		return F.MultilabelSoftMarginLoss(i["rows"], i["const_bits"], F.WeightedLossOptions{Reduction: torch.ReductionNone})
	}},
	{"multi_margin_loss", func(i tensors) torch.Tensor { return F.MultiMarginLoss(i["rows"], i["classes"]) }},
	{"multi_margin_loss options", func(i tensors) torch.Tensor {
		return F.MultiMarginLoss(i["rows"], i["classes"],
			F.MultiMarginLossOptions{P: 2, Margin: new(0.5), Weight: i["seven"].Detach().Abs(), Reduction: torch.ReductionNone})
	}},
	{"margin_ranking_loss", func(i tensors) torch.Tensor { return F.MarginRankingLoss(i["rows"], i["rows2"], i["const_signs"]) }},
	{"margin_ranking_loss options", func(i tensors) torch.Tensor {
		return F.MarginRankingLoss(i["rows"], i["rows2"], i["const_signs"],
			F.MarginRankingLossOptions{Margin: 0.5, Reduction: torch.ReductionNone})
	}},
	{"hinge_embedding_loss", func(i tensors) torch.Tensor { return F.HingeEmbeddingLoss(i["rows"], i["const_signs"]) }},
	{"hinge_embedding_loss options", func(i tensors) torch.Tensor {
		return F.HingeEmbeddingLoss(i["rows"], i["const_signs"], F.HingeEmbeddingLossOptions{Margin: new(0.3), Reduction: torch.ReductionSum})
	}},
	{"cosine_embedding_loss", func(i tensors) torch.Tensor {
		return F.CosineEmbeddingLoss(i["rows"], i["rows2"], i["const_sign"])
	}},
	{"cosine_embedding_loss options", func(i tensors) torch.Tensor {
		return F.CosineEmbeddingLoss(i["rows"], i["rows2"], i["const_sign"],
			F.CosineEmbeddingLossOptions{Margin: 0.2, Reduction: torch.ReductionNone})
	}},
	{"triplet_margin_loss", func(i tensors) torch.Tensor { return F.TripletMarginLoss(i["rows"], i["rows2"], i["rows3"]) }},
	{"triplet_margin_loss options", func(i tensors) torch.Tensor {
		return F.TripletMarginLoss(i["rows"], i["rows2"], i["rows3"],
			F.TripletMarginLossOptions{Margin: 2, P: new(1.0), Eps: new(1e-3), Swap: true, Reduction: torch.ReductionSum})
	}},
	{"triplet_margin_with_distance_loss", func(i tensors) torch.Tensor {
		return F.TripletMarginWithDistanceLoss(i["rows"], i["rows2"], i["rows3"])
	}},
	{"triplet_margin_with_distance_loss options", func(i tensors) torch.Tensor {
		return F.TripletMarginWithDistanceLoss(i["rows"], i["rows2"], i["rows3"],
			F.TripletMarginWithDistanceLossOptions{DistanceFunction: manhattan, Margin: 0.5, Swap: true, Reduction: torch.ReductionNone})
	}},
	{"triplet_margin_with_distance_loss sum", func(i tensors) torch.Tensor {
		return F.TripletMarginWithDistanceLoss(i["rows"], i["rows2"], i["rows3"],
			F.TripletMarginWithDistanceLossOptions{Reduction: torch.ReductionSum})
	}},
	{"poisson_nll_loss", func(i tensors) torch.Tensor { return F.PoissonNLLLoss(i["rows"], i["const_count"]) }},
	{"poisson_nll_loss options", func(i tensors) torch.Tensor {
		return F.PoissonNLLLoss(i["rows"].Exp(), i["const_count"],
			F.PoissonNLLLossOptions{NoLogInput: true, Full: true, Eps: new(1e-4), Reduction: torch.ReductionNone})
	}},
	{"gaussian_nll_loss", func(i tensors) torch.Tensor { return F.GaussianNLLLoss(i["rows"], i["rows2"], i["rows3"].Exp()) }},
	{"gaussian_nll_loss options", func(i tensors) torch.Tensor {
		return F.GaussianNLLLoss(i["rows"], i["rows2"], i["four"].Exp(),
			F.GaussianNLLLossOptions{Full: true, Eps: new(0.5), Reduction: torch.ReductionNone})
	}},
	{"gaussian_nll_loss one variance", func(i tensors) torch.Tensor {
		return F.GaussianNLLLoss(i["rows"], i["rows2"], i["four"].Exp().Unsqueeze(-1), F.GaussianNLLLossOptions{Reduction: torch.ReductionSum})
	}},
	{"ctc_loss", func(i tensors) torch.Tensor {
		return F.CTCLoss(i["sequence"].LogSoftmax(2), i["words"], []int{6, 6, 5}, []int{2, 1, 2})
	}},
	{"ctc_loss options", func(i tensors) torch.Tensor {
		return F.CTCLossTensor(i["sequence"].LogSoftmax(2), i["words"].SubScalar(1), torch.FromSlice([]int{6, 6, 1}),
			torch.FromSlice([]int{2, 1, 2}), F.CTCLossOptions{Blank: 4, Reduction: torch.ReductionNone, ZeroInfinity: true})
	}},
}

func TestLosses(t *testing.T) { equalsPython(t, "testdata/loss.py", losses) }

func manhattan(a, b torch.Tensor) torch.Tensor { return a.Sub(b).Abs().SumDim([]int{-1}) }
