"""The rates and momenta of PyTorch's schedules over a number of steps."""

import torch
from torch.optim import lr_scheduler as lr

SCHEDULES = {
    "step": lambda o: lr.StepLR(o, 7, 0.3),
    "multistep": lambda o: lr.MultiStepLR(o, [5, 30, 30, 100], 0.3),
    "exponential": lambda o: lr.ExponentialLR(o, 0.97),
    "linear": lambda o: lr.LinearLR(o, 0.1, 0.9, 60),
    "cosine": lambda o: lr.CosineAnnealingLR(o, 40, 0.001),
    "lambda": lambda o: lr.LambdaLR(o, lambda step: 1 / (1 + step)),
    "onecycle": lambda o: lr.OneCycleLR(o, 0.4, 500),
    "onecycle-linear": lambda o: lr.OneCycleLR(o, 0.4, 500, anneal_strategy="linear", pct_start=0.2, cycle_momentum=False),
    "onecycle-three": lambda o: lr.OneCycleLR(o, 0.4, 500, three_phase=True, div_factor=10, final_div_factor=100),
}


def main(inputs, steps):
    out = {}
    for name, make in SCHEDULES.items():
        groups = [{"params": [torch.zeros(1)]}, {"params": [torch.zeros(1)], "lr": 0.037}]
        opt = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
        sched = make(opt)
        rows = []
        for _ in range(int(steps)):
            rows.append([v for g in opt.param_groups for v in (g["lr"], g["momentum"])])
            opt.step()
            sched.step()
        out[name] = torch.tensor(rows, dtype=torch.float64)
    return out
