"""Every function of loss_test.go."""

import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(__file__))
import compare

FUNCTIONS = {
    "cross_entropy": lambda i: F.cross_entropy(i["rows"], i["classes"]),
    "cross_entropy options": lambda i: F.cross_entropy(i["rows"], i["classes"], weight=i["seven"].detach().abs(), ignore_index=2, reduction="sum", label_smoothing=0.1),
    "cross_entropy pixels": lambda i: F.cross_entropy(i["image"], i["pixels"], reduction="none"),
    "cross_entropy probabilities": lambda i: F.cross_entropy(i["rows"], i["rows2"].softmax(1)),
    "nll_loss": lambda i: F.nll_loss(i["rows"], i["classes"]),
    "nll_loss options": lambda i: F.nll_loss(i["rows"], i["classes"], weight=i["seven"].detach().abs(), ignore_index=3, reduction="sum"),
    "mse_loss": lambda i: F.mse_loss(i["rows"], i["rows2"]),
    "mse_loss broadcast": lambda i: F.mse_loss(i["rows"], i["seven"], reduction="sum"),
    "l1_loss": lambda i: F.l1_loss(i["rows"], i["rows2"], reduction="none"),
    "smooth_l1_loss": lambda i: F.smooth_l1_loss(i["rows"], i["rows2"], beta=0.5),
    "smooth_l1_loss of beta 0": lambda i: F.smooth_l1_loss(i["rows"], i["rows2"], beta=0.0),
    "huber_loss": lambda i: F.huber_loss(i["rows"], i["rows2"], delta=0.5, reduction="sum"),
    "binary_cross_entropy": lambda i: F.binary_cross_entropy(i["rows"].sigmoid(), i["rows2"].sigmoid(), weight=i["seven"].detach().abs()),
    "binary_cross_entropy_with_logits": lambda i: F.binary_cross_entropy_with_logits(i["rows"], i["rows2"].sigmoid(), pos_weight=i["seven"].detach().abs()),
    "kl_div": lambda i: F.kl_div(i["rows"].log_softmax(1), i["rows2"].softmax(1), reduction="batchmean"),
    "kl_div log": lambda i: F.kl_div(i["rows"].log_softmax(1), i["rows2"].log_softmax(1), log_target=True),
    "mse_loss weighted": lambda i: F.mse_loss(i["rows"], i["rows2"], weight=i["rows3"].exp()),
    "mse_loss weighted sum": lambda i: F.mse_loss(i["rows"], i["seven"], weight=i["rows3"], reduction="sum"),
    "mse_loss weighted none": lambda i: F.mse_loss(i["rows"], i["rows2"], weight=i["rows3"], reduction="none"),
    "l1_loss weighted": lambda i: F.l1_loss(i["rows"], i["rows2"], weight=i["rows3"].exp()),
    "l1_loss weighted none": lambda i: F.l1_loss(i["rows"], i["rows2"], weight=i["rows3"], reduction="none"),
    "huber_loss weighted": lambda i: F.huber_loss(i["rows"], i["rows2"], weight=i["rows3"], delta=0.5),
    "huber_loss weighted sum": lambda i: F.huber_loss(i["rows"], i["rows2"], weight=i["rows3"], reduction="sum"),
    "binary_cross_entropy none": lambda i: F.binary_cross_entropy(i["rows"].sigmoid(), i["const_bits"], reduction="none"),
    "soft_margin_loss": lambda i: F.soft_margin_loss(i["rows"], i["const_signs"]),
    "soft_margin_loss none": lambda i: F.soft_margin_loss(i["rows"], i["const_signs"], reduction="none"),
    "multilabel_margin_loss": lambda i: F.multilabel_margin_loss(i["rows"], i["labels"]),
    "multilabel_margin_loss sum": lambda i: F.multilabel_margin_loss(i["rows"], i["labels"], reduction="sum"),
    "multilabel_soft_margin_loss": lambda i: F.multilabel_soft_margin_loss(i["rows"], i["const_bits"]),
    "multilabel_soft_margin_loss weighted": lambda i: F.multilabel_soft_margin_loss(i["rows"], i["rows2"], weight=i["seven"], reduction="sum"),
    "multilabel_soft_margin_loss none": lambda i: F.multilabel_soft_margin_loss(i["rows"], i["const_bits"], reduction="none"),
    "multi_margin_loss": lambda i: F.multi_margin_loss(i["rows"], i["classes"]),
    "multi_margin_loss options": lambda i: F.multi_margin_loss(i["rows"], i["classes"], p=2, margin=0.5, weight=i["seven"].detach().abs(), reduction="none"),
    "margin_ranking_loss": lambda i: F.margin_ranking_loss(i["rows"], i["rows2"], i["const_signs"]),
    "margin_ranking_loss options": lambda i: F.margin_ranking_loss(i["rows"], i["rows2"], i["const_signs"], margin=0.5, reduction="none"),
    "hinge_embedding_loss": lambda i: F.hinge_embedding_loss(i["rows"], i["const_signs"]),
    "hinge_embedding_loss options": lambda i: F.hinge_embedding_loss(i["rows"], i["const_signs"], margin=0.3, reduction="sum"),
    "cosine_embedding_loss": lambda i: F.cosine_embedding_loss(i["rows"], i["rows2"], i["const_sign"]),
    "cosine_embedding_loss options": lambda i: F.cosine_embedding_loss(i["rows"], i["rows2"], i["const_sign"], margin=0.2, reduction="none"),
    "triplet_margin_loss": lambda i: F.triplet_margin_loss(i["rows"], i["rows2"], i["rows3"]),
    "triplet_margin_loss options": lambda i: F.triplet_margin_loss(i["rows"], i["rows2"], i["rows3"], margin=2.0, p=1.0, eps=1e-3, swap=True, reduction="sum"),
    "triplet_margin_with_distance_loss": lambda i: F.triplet_margin_with_distance_loss(i["rows"], i["rows2"], i["rows3"]),
    "triplet_margin_with_distance_loss options": lambda i: F.triplet_margin_with_distance_loss(i["rows"], i["rows2"], i["rows3"], distance_function=lambda a, b: (a - b).abs().sum(-1), margin=0.5, swap=True, reduction="none"),
    "triplet_margin_with_distance_loss sum": lambda i: F.triplet_margin_with_distance_loss(i["rows"], i["rows2"], i["rows3"], reduction="sum"),
    "poisson_nll_loss": lambda i: F.poisson_nll_loss(i["rows"], i["const_count"]),
    "poisson_nll_loss options": lambda i: F.poisson_nll_loss(i["rows"].exp(), i["const_count"], log_input=False, full=True, eps=1e-4, reduction="none"),
    "gaussian_nll_loss": lambda i: F.gaussian_nll_loss(i["rows"], i["rows2"], i["rows3"].exp()),
    "gaussian_nll_loss options": lambda i: F.gaussian_nll_loss(i["rows"], i["rows2"], i["four"].exp(), full=True, eps=0.5, reduction="none"),
    "gaussian_nll_loss one variance": lambda i: F.gaussian_nll_loss(i["rows"], i["rows2"], i["four"].exp().unsqueeze(-1), reduction="sum"),
    "ctc_loss": lambda i: F.ctc_loss(i["sequence"].log_softmax(2), i["words"], (6, 6, 5), (2, 1, 2)),
    "ctc_loss options": lambda i: F.ctc_loss(i["sequence"].log_softmax(2), i["words"] - 1, torch.tensor([6, 6, 1]), torch.tensor([2, 1, 2]), blank=4, reduction="none", zero_infinity=True),
}


def main(inputs):
    return compare.results(FUNCTIONS, inputs)
