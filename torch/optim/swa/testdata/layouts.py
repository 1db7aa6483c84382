"""Averages parameters of every layout; see layouts_test.go, which does the same in Go."""

import torch
from torch import nn
from torch.optim import swa_utils

WAYS = {
    "swa": {},
    "swa many": {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()},
    "ema": {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)},
    "ema one": {"avg_fn": swa_utils.get_ema_avg_fn(0.9)},
}
LAYOUTS = {
    "dense": lambda x: x.clone(),
    "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "channels_last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "narrow": lambda x: torch.cat([x, x], -1).narrow(-1, 0, x.shape[-1]),
    "spread": lambda x: torch.stack([x, x], -1).select(-1, 0),
    "offset": lambda x: torch.cat([torch.zeros(3, dtype=x.dtype), x.reshape(-1)]).narrow(0, 3, x.numel()).view(x.shape),
}
DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "complex64": torch.complex64}


def main(inputs):
    results = {}
    for dtype, d in DTYPES.items():
        for layout, lay in LAYOUTS.items():
            for way, options in WAYS.items():
                model = nn.ParameterList([nn.Parameter(lay(x.to(d))) for x in inputs["x"]])
                average = swa_utils.AveragedModel(model, **options)
                for _ in range(4):
                    average.update_parameters(model)
                    with torch.no_grad():
                        for p in model.parameters():
                            p.mul_(0.75).add_(0.3)
                for i, p in enumerate(average.module.parameters()):
                    results[f"{dtype} {layout} {way} {i}"] = p.detach().contiguous().clone()
                    results[f"{dtype} {layout} {way} {i} strides"] = torch.tensor(p.stride())
    return results
