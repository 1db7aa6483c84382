"""Gradient clipping, fusion and vectors of parameters."""

import math

import torch
from torch import nn
from torch.nn import utils
from torch.nn.utils import fusion

NORMS = {"2": 2.0, "1": 1.0, "3.5": 3.5, "inf": math.inf, "0": 0.0, "-inf": -math.inf}
DTYPES = {"float": "f", "double": "d", "mixed": "fdfd", "three": "bfdfbd"}
DTYPE = {"f": torch.float32, "d": torch.float64, "b": torch.bfloat16}


def main(inputs):
    return clip(inputs) | fuse() | vectors(inputs)


def parameters(inputs, dtypes):
    params = []
    for i in range(6):
        p = torch.zeros_like(inputs[f"g{i}"], dtype=DTYPE[dtypes[i % len(dtypes)]], requires_grad=True)
        if i != 2:
            p.grad = inputs[f"g{i}"].to(p.dtype, copy=True)
        params.append(p)
    return params


def clip(inputs):
    results = {}
    for kind, dtypes in DTYPES.items():
        for name, p in NORMS.items():
            for limit in (0.5, 1e6):
                params = parameters(inputs, dtypes)
                key = f"{kind} {name} {limit:g}"
                results[f"{key} norm"] = utils.clip_grad_norm_(params, limit, p)
                results |= {f"{key} {i}": p.grad for i, p in enumerate(params) if i != 2}
        params = parameters(inputs, dtypes)
        utils.clip_grad_value_(params, 0.3)
        results |= {f"{kind} value {i}": p.grad for i, p in enumerate(params) if i != 2}
    return results


def vectors(inputs):
    params = [inputs[f"g{i}"].clone().requires_grad_() for i in range(6)]
    vector = utils.parameters_to_vector(params)
    utils.vector_to_parameters(vector.detach() * 2, params)
    return {"vector": vector} | {f"from vector {i}": p for i, p in enumerate(params)}


def fuse():
    results = {}
    cases = [
        (nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6)),
        (nn.Conv2d(4, 6, 3, groups=2, bias=False), nn.BatchNorm2d(6, eps=1e-3)),
        (nn.Conv3d(2, 6, 1), nn.BatchNorm3d(6, affine=False)),
        (nn.ConvTranspose1d(4, 6, 3), nn.BatchNorm1d(6)),
        (nn.ConvTranspose2d(4, 6, 3, bias=False), nn.BatchNorm2d(6)),
        (nn.ConvTranspose3d(2, 6, 2), nn.BatchNorm3d(6)),
        (nn.Linear(5, 6), nn.BatchNorm1d(6)),
        (nn.Linear(5, 6, bias=False), nn.BatchNorm1d(1)),
    ]
    for seed, (layer, bn) in enumerate(cases):
        torch.manual_seed(seed)
        for t in [*layer.parameters(), *bn.parameters(), *bn.buffers()]:
            if t.is_floating_point():
                t.data.copy_(torch.rand_like(t) + 0.1)
        layer.eval(), bn.eval()
        if isinstance(layer, nn.Linear):
            fused = fusion.fuse_linear_bn_eval(layer, bn)
        else:
            fused = fusion.fuse_conv_bn_eval(layer, bn, isinstance(layer, nn.modules.conv._ConvTransposeNd))
        for name, p in fused.named_parameters():
            results[f"fused {seed} {name}"] = p
            results[f"fused {seed} {name} is trained"] = torch.tensor(p.requires_grad)
    return results
