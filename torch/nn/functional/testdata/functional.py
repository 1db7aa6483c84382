"""Every function of functional_test.go: the result, and the gradients of all inputs that
can have one."""

import torch
from torch.nn import functional as F

FUNCTIONS = {
    "linear": lambda i: F.linear(i["rows"], i["matrix"], i["five"]),
    "conv1d": lambda i: F.conv1d(i["signal"], i["kernel1d"], i["six"], stride=2, padding=1),
    "conv1d same": lambda i: F.conv1d(i["signal"], i["kernel1d"], padding="same"),
    "conv2d": lambda i: F.conv2d(i["image"], i["kernel2d"], i["six"], padding=(1, 0), dilation=2, groups=2),
    "conv2d valid": lambda i: F.conv2d(i["image"], i["kernel2d"], groups=2, padding="valid"),
    "conv3d": lambda i: F.conv3d(i["volume"], i["kernel3d"], i["six"], stride=(1, 2, 1)),
    "conv3d same": lambda i: F.conv3d(i["volume"], i["kernel3d"], padding="same"),
    "embedding": lambda i: F.embedding(i["classes"], i["matrix"], padding_idx=-2),
    "batch_norm": lambda i: F.batch_norm(i["image"], None, None, i["four"], i["four2"], training=True),
    "batch_norm running": lambda i: F.batch_norm(i["image"], i["mean"], i["var"], training=False, eps=1e-2),
    "layer_norm": lambda i: F.layer_norm(i["rows"], (7,), i["seven"]),
    "group_norm": lambda i: F.group_norm(i["image"], 2, i["four"], i["four2"], eps=1e-2),
    "max_pool1d": lambda i: F.max_pool1d(i["signal"], 3, stride=1, padding=1),
    "max_pool2d": lambda i: F.max_pool2d(i["image"], (2, 3), dilation=(1, 2)),
    "max_pool3d": lambda i: F.max_pool3d(i["volume"], 2, ceil_mode=True),
    "avg_pool1d": lambda i: F.avg_pool1d(i["signal"], 3, padding=1, count_include_pad=False),
    "avg_pool2d": lambda i: F.avg_pool2d(i["image"], 3, stride=(2, 1), ceil_mode=True),
    "avg_pool3d": lambda i: F.avg_pool3d(i["volume"], 2, divisor_override=3),
    "adaptive_avg_pool1d": lambda i: F.adaptive_avg_pool1d(i["signal"], 4),
    "adaptive_avg_pool2d": lambda i: F.adaptive_avg_pool2d(i["image"], 2),
    "adaptive_avg_pool3d": lambda i: F.adaptive_avg_pool3d(i["volume"], (1, 2, 3)),
    "relu": lambda i: F.relu(i["rows"]),
    "relu6": lambda i: F.relu6(i["rows"] * 5),
    "leaky_relu": lambda i: F.leaky_relu(i["rows"], 0.3),
    "elu": lambda i: F.elu(i["rows"], 0.7),
    "gelu": lambda i: F.gelu(i["rows"], approximate="tanh"),
    "silu": lambda i: F.silu(i["rows"]),
    "mish": lambda i: F.mish(i["rows"]),
    "hardswish": lambda i: F.hardswish(i["rows"]),
    "hardsigmoid": lambda i: F.hardsigmoid(i["rows"]),
    "softplus": lambda i: F.softplus(i["rows"]),
    "logsigmoid": lambda i: F.logsigmoid(i["rows"]),
    "softmax": lambda i: F.softmax(i["rows"], 0),
    "log_softmax": lambda i: F.log_softmax(i["rows"], 1),
    "dropout": lambda i: F.dropout(i["rows"], 0.4),
    "dropout off": lambda i: F.dropout(i["rows"], 0.4, training=False),
    "dropout2d": lambda i: F.dropout2d(i["image"], 0.4),
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
}


def main(inputs):
    results = {}
    for seed, (name, function) in enumerate(FUNCTIONS.items()):
        leaves = {k: v.clone().requires_grad_(v.is_floating_point() and k not in ("mean", "var")) for k, v in inputs.items()}
        torch.manual_seed(seed)
        y = function(leaves)
        results[f"{name}/y"] = y.clone()
        (y * y).sum().backward()
        results |= {f"{name}/{k}": v.grad for k, v in leaves.items() if v.grad is not None}
    return results
