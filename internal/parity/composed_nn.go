package parity

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// nnFunctional is the part of composed that is in torch.nn.functional.
var nnFunctional = map[string]func(a arguments){
	"nn.functional.adaptive_avg_pool2d": func(a arguments) { F.AdaptiveAvgPool2d(a.tensor("input"), a.size(2)) },
	"nn.functional.adaptive_avg_pool3d": func(a arguments) { F.AdaptiveAvgPool3d(a.tensor("input"), a.size(3)) },
	"nn.functional.adaptive_max_pool2d": func(a arguments) { F.AdaptiveMaxPool2d(a.tensor("input"), a.size(2)) },
	"nn.functional.adaptive_max_pool3d": func(a arguments) { F.AdaptiveMaxPool3d(a.tensor("input"), a.size(3)) },
	"nn.functional.gaussian_nll_loss": func(a arguments) {
		F.GaussianNLLLoss(a.tensor("input"), a.tensor("target"), a.tensor("var"), F.GaussianNLLLossOptions{Reduction: a.reduction()})
	},
	"nn.functional.group_norm": func(a arguments) { F.GroupNorm(a.tensor("input"), get[int](a, "num_groups")) },
	"nn.functional.hardtanh": func(a arguments) {
		F.Hardtanh(a.tensor("input"), F.HardtanhOptions{MinVal: new(number(a, "min_val")), MaxVal: new(number(a, "max_val"))})
	},
	"nn.functional.hinge_embedding_loss": func(a arguments) {
		F.HingeEmbeddingLoss(a.tensor("input"), a.tensor("target"), F.HingeEmbeddingLossOptions{Reduction: a.reduction()})
	},
	"nn.functional.huber_loss": func(a arguments) {
		F.HuberLoss(a.tensor("input"), a.tensor("target"), F.HuberLossOptions{Reduction: a.reduction()})
	},
	"nn.functional.l1_loss": func(a arguments) {
		F.L1Loss(a.tensor("input"), a.tensor("target"), F.WeightedLossOptions{Reduction: a.reduction()})
	},
	"nn.functional.margin_ranking_loss": func(a arguments) {
		F.MarginRankingLoss(a.tensor("input1"), a.tensor("input2"), a.tensor("target"), F.MarginRankingLossOptions{Reduction: a.reduction()})
	},
	"nn.functional.multi_margin_loss": func(a arguments) {
		F.MultiMarginLoss(a.tensor("input"), a.tensor("target"), F.MultiMarginLossOptions{
			P: get[int](a, "p"), Weight: a.tensor("weight"), Reduction: a.reduction(),
		})
	},
	"nn.functional.multilabel_margin_loss": func(a arguments) {
		F.MultilabelMarginLoss(a.tensor("input"), a.tensor("target"), F.LossOptions{Reduction: a.reduction()})
	},
	"nn.functional.poisson_nll_loss": func(a arguments) {
		F.PoissonNLLLoss(a.tensor("input"), a.tensor("target"), F.PoissonNLLLossOptions{Reduction: a.reduction()})
	},
	"nn.functional.soft_margin_loss": func(a arguments) {
		F.SoftMarginLoss(a.tensor("input"), a.tensor("target"), F.LossOptions{Reduction: a.reduction()})
	},
	"nn.functional.triplet_margin_loss": func(a arguments) {
		F.TripletMarginLoss(a.tensor("anchor"), a.tensor("positive"), a.tensor("negative"), F.TripletMarginLossOptions{
			Margin: number(a, "margin"), Reduction: a.reduction(),
		})
	},
	"nn.functional.triplet_margin_with_distance_loss": func(a arguments) {
		F.TripletMarginWithDistanceLoss(a.tensor("anchor"), a.tensor("positive"), a.tensor("negative"), F.TripletMarginWithDistanceLossOptions{
			Margin: number(a, "margin"), Reduction: a.reduction(),
		})
	},
}

func (a arguments) tensor(name string) torch.Tensor { return get[torch.Tensor](a, name) }

// size is what pooling results in, in each of n dimensions.
func (a arguments) size(n int) (sizes []int) {
	list, ok := a.named["output_size"].argument(nil).([]any)
	if !ok {
		return slices.Repeat([]int{get[int](a, "output_size")}, n)
	}
	for _, n := range list {
		size, _ := n.(int)
		sizes = append(sizes, size)
	}
	return sizes
}

// reduction is the one that Python names. Go's compiler refuses what is none; the error stands
// for that.
func (a arguments) reduction() torch.Reduction {
	known := map[string]torch.Reduction{"mean": torch.ReductionMean, "sum": torch.ReductionSum, "none": torch.ReductionNone}
	name, given := a.named["reduction"].argument(nil).(string)
	r, ok := known[name]
	if given && !ok {
		torch.Throw("reduction", torch.KindValue, "%s is not a valid value for reduction", name)
	}
	return r
}
