"""Every layer of layers_test.go: initial values, results, gradients and state after a step."""

import torch
from torch import nn

LAYERS = {
    "linear": lambda: nn.Linear(7, 5),
    "linear without bias": lambda: nn.Linear(7, 5, bias=False),
    "linear without inputs": lambda: nn.Linear(0, 5),
    "conv1d": lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2),
    "conv2d": lambda: nn.Conv2d(4, 6, 3),
    "conv2d stride groups": lambda: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2, bias=False),
    "conv2d same": lambda: nn.Conv2d(4, 6, (4, 3), padding="same", dilation=(1, 2)),
    "conv2d valid": lambda: nn.Conv2d(4, 6, 3, padding="valid"),
    "conv2d reflect": lambda: nn.Conv2d(4, 6, 3, padding=(1, 2), padding_mode="reflect"),
    "conv2d circular same": lambda: nn.Conv2d(4, 6, (2, 3), padding="same", padding_mode="circular"),
    "conv2d replicate": lambda: nn.Conv2d(4, 6, 3, stride=2, padding=2, padding_mode="replicate"),
    "conv3d": lambda: nn.Conv3d(2, 4, (1, 3, 2), padding=1),
    "batchnorm1d": lambda: nn.BatchNorm1d(6),
    "batchnorm1d length": lambda: nn.BatchNorm1d(6, eps=1e-3, momentum=0.3),
    "batchnorm2d": lambda: nn.BatchNorm2d(4),
    "batchnorm2d cumulative": lambda: nn.BatchNorm2d(4, momentum=None),
    "batchnorm2d bare": lambda: nn.BatchNorm2d(4, affine=False, track_running_stats=False),
    "batchnorm3d": lambda: nn.BatchNorm3d(2, momentum=0.0),
    "layernorm": lambda: nn.LayerNorm((5, 7)),
    "layernorm without bias": lambda: nn.LayerNorm(7, eps=1e-2, bias=False),
    "layernorm bare": lambda: nn.LayerNorm(7, elementwise_affine=False),
    "groupnorm": lambda: nn.GroupNorm(2, 4),
    "groupnorm bare": lambda: nn.GroupNorm(4, 4, eps=1e-2, affine=False),
    "embedding": lambda: nn.Embedding(10, 3),
    "embedding padding": lambda: nn.Embedding(10, 3, padding_idx=-4, scale_grad_by_freq=True),
    "relu": lambda: nn.ReLU(),
    "relu in place": lambda: nn.Sequential(nn.Linear(7, 5), nn.ReLU(inplace=True)),
    "gelu": lambda: nn.GELU(),
    "gelu tanh": lambda: nn.GELU(approximate="tanh"),
    "silu": lambda: nn.SiLU(),
    "silu in place": lambda: nn.Sequential(nn.Linear(7, 5), nn.SiLU(inplace=True)),
    "tanh": lambda: nn.Tanh(),
    "sigmoid": lambda: nn.Sigmoid(),
    "leaky relu": lambda: nn.LeakyReLU(0.2),
    "softmax": lambda: nn.Softmax(dim=1),
    "maxpool2d": lambda: nn.MaxPool2d(2),
    "maxpool2d options": lambda: nn.MaxPool2d((3, 2), stride=2, padding=(1, 0), dilation=1, ceil_mode=True),
    "avgpool2d": lambda: nn.AvgPool2d(2),
    "avgpool2d options": lambda: nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    "avgpool2d divisor": lambda: nn.AvgPool2d(3, divisor_override=5),
    "adaptive avgpool2d": lambda: nn.AdaptiveAvgPool2d((3, 2)),
    "flatten": lambda: nn.Flatten(),
    "flatten middle": lambda: nn.Flatten(2, 3),
    "identity": lambda: nn.Identity(),
    "dropout": lambda: nn.Dropout(0.3),
    "sequential": lambda: nn.Sequential(nn.Linear(7, 9), nn.GELU(), nn.Sequential(nn.Dropout(0.5), nn.Linear(9, 5))),
}


def main(inputs):
    results = {}
    for mode in ("train", "eval"):
        for seed, (name, make) in enumerate(LAYERS.items()):
            torch.manual_seed(seed)
            layer = make().train(mode == "train")
            for key, value in run(layer, inputs[name].clone()).items():
                results[f"{mode}/{name}/{key}"] = value
    return results


def run(layer, x):
    results = {f"initial {key}": value.clone() for key, value in layer.state_dict().items()}
    if x.is_floating_point():
        x.requires_grad_()
    y = layer(x)
    results["y"] = y.clone()
    if y.requires_grad:
        (y * y).sum().backward()
    if x.grad is not None:
        results["dx"] = x.grad
    for key, value in layer.named_parameters():
        if value.grad is not None:
            results[f"grad {key}"] = value.grad
    for key, value in layer.state_dict().items():
        results[f"final {key}"] = value
    return results
