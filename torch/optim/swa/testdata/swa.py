"""Averages the weights of a model that is trained for 50 steps."""

import torch
from torch import nn
from torch.optim import swa_utils

STEPS = 50
WAYS = {
    "swa": {},
    "swa buffers": {"use_buffers": True},
    "swa one": {"avg_fn": swa_utils.get_swa_avg_fn()},
    "swa many": {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()},
    "ema": {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn()},
    "ema buffers": {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "ema one": {"avg_fn": swa_utils.get_ema_avg_fn(0.9)},
    "ema one buffers": {"avg_fn": swa_utils.get_ema_avg_fn(0.7), "use_buffers": True},
    "swa one buffers": {"avg_fn": swa_utils.get_swa_avg_fn(), "use_buffers": True},
}


def main(inputs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2, dtype=torch.float32))
    model[3].double()
    averages = {name: swa_utils.AveragedModel(model, **options) for name, options in WAYS.items()}
    opt = torch.optim.SGD(model.parameters(), 0.05, foreach=False, fused=True)
    schedule = swa_utils.SWALR(opt, 0.01, anneal_epochs=20)
    results = {}
    for step in range(STEPS):
        y = model[3](model[:3](inputs["x"][step]).double())
        (y * y).mean().backward()
        opt.step()
        opt.zero_grad()
        schedule.step()
        for name, average in averages.items():
            average.update_parameters(model)
        if step in (0, 1, 24):
            results |= {f"ema {step} {k}": v.clone() for k, v in averages["ema"].state_dict().items()}
    for name, average in averages.items():
        results |= {f"{name} {k}": v.clone() for k, v in average.state_dict().items()}
    average = averages["swa"]
    average.eval()
    swa_utils.update_bn(([x, None] for x in inputs["x"]), Half(average))
    results |= {f"update_bn {k}": v for k, v in average.state_dict().items()}
    results["modes"] = torch.tensor([m.training for m in average.modules()])
    results["names"] = torch.tensor(list(" ".join(average.state_dict()).encode()), dtype=torch.uint8)
    return results


class Half(nn.Module):
    """The part of the model that takes float32."""

    def __init__(self, average):
        super().__init__()
        self.average = average
        self.training = average.training

    def forward(self, x):
        return self.average.module[:3](x)
