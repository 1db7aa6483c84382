"""The rates and momenta of PyTorch's schedules over a number of steps, and their state half the way, as JSON; or those of
the second half from a state of the test's."""

import json
import math
import warnings

import torch
from torch.optim import lr_scheduler as lr
from torch.optim.swa_utils import SWALR

SCHEDULES = {
    "step": lambda o: lr.StepLR(o, 7, 0.3),
    "multistep": lambda o: lr.MultiStepLR(o, [5, 30, 30, 100], 0.3),
    "exponential": lambda o: lr.ExponentialLR(o, 0.97),
    "linear": lambda o: lr.LinearLR(o, 0.1, 0.9, 60),
    "cosine": lambda o: lr.CosineAnnealingLR(o, 40, 0.001),
    "lambda": lambda o: lr.LambdaLR(o, lambda step: 1 / (1 + step)),
    "multiplicative": lambda o: lr.MultiplicativeLR(o, lambda step: 1 - 1 / (2 + step)),
    "constant": lambda o: lr.ConstantLR(o, 0.3, 40),
    "polynomial": lambda o: lr.PolynomialLR(o, 300, 0.9),
    "restarts": lambda o: lr.CosineAnnealingWarmRestarts(o, 10, 2, 0.001),
    "restarts-even": lambda o: lr.CosineAnnealingWarmRestarts(o, 30),
    "fraction": lambda o: lr.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
    "fraction-even": lambda o: lr.CosineAnnealingWarmRestarts(o, 7),
    "cyclic": lambda o: lr.CyclicLR(o, 0.01, 0.3, 20, 35),
    "cyclic-halving": lambda o: lr.CyclicLR(o, 0.01, 0.3, 20, mode="triangular2", cycle_momentum=False),
    "cyclic-gamma": lambda o: lr.CyclicLR(o, 0.01, 0.3, 20, mode="exp_range", gamma=0.99),
    "cyclic-scale": lambda o: lr.CyclicLR(o, 0.01, 0.3, 20, scale_fn=lambda x: 1 / x),
    "cyclic-step": lambda o: lr.CyclicLR(o, 0.01, 0.3, 20, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations"),
    "swa": lambda o: SWALR(o, 0.05, 60),
    "swa-linear": lambda o: SWALR(o, 0.05, anneal_strategy="linear"),
    "swa-now": lambda o: SWALR(o, 0.05, 0),
    "plateau": lambda o: lr.ReduceLROnPlateau(o),
    "plateau-max": lambda o: lr.ReduceLROnPlateau(o, "max", 0.5, 3, 0.01, "abs", 7, 1e-4, 1e-5),
    "plateau-min-abs": lambda o: lr.ReduceLROnPlateau(o, factor=0.7, patience=0, threshold_mode="abs"),
    "plateau-max-rel": lambda o: lr.ReduceLROnPlateau(o, "max", 0.9, 2),
    "sequence": lambda o: lr.SequentialLR(o, [lr.LinearLR(o, 0.1, 1, 20), lr.CosineAnnealingLR(o, 100, 0.001), lr.ExponentialLR(o, 0.99)], [20, 200]),
    "sequence-2": lambda o: lr.SequentialLR(
        o, [lr.ConstantLR(o, 0.1, 10), lr.StepLR(o, 30, 0.5), lr.PolynomialLR(o, 100, 2.0), lr.CosineAnnealingWarmRestarts(o, 20, 2)], [15, 100, 190]),
    "sequence-3": lambda o: lr.SequentialLR(
        o, [lr.CosineAnnealingWarmRestarts(o, 7), lr.MultiplicativeLR(o, lambda step: 0.99), lr.LinearLR(o, 0.5, 1, 30), lr.ConstantLR(o, 0.3, 40)], [15, 100, 190]),
    "sequence-4": lambda o: lr.SequentialLR(
        o, [lr.MultiplicativeLR(o, lambda step: 0.99), lr.MultiStepLR(o, [10, 40], 0.2), lr.LambdaLR(o, lambda step: 1 / (1 + step)), SWALR(o, 0.05, 20)], [15, 100, 190]),
    "chained": lambda o: lr.ChainedScheduler([lr.ConstantLR(o, 0.1, 10), lr.ExponentialLR(o, 0.99), lr.LinearLR(o, 0.5, 1, 30)]),
    "chained-sequence": lambda o: lr.ChainedScheduler([lr.SequentialLR(o, [lr.LinearLR(o, 0.1, 1, 20), lr.ExponentialLR(o, 0.99)], [20]), lr.StepLR(o, 50, 0.3)]),
    "adam-onecycle": lambda o: lr.OneCycleLR(o, 0.4, 500),
    "adam-cyclic": lambda o: lr.CyclicLR(o, 0.01, 0.3, 20),
    "onecycle": lambda o: lr.OneCycleLR(o, 0.4, 500),
    "onecycle-linear": lambda o: lr.OneCycleLR(o, 0.4, 500, anneal_strategy="linear", pct_start=0.2, cycle_momentum=False),
    "onecycle-three": lambda o: lr.OneCycleLR(o, 0.4, 500, three_phase=True, div_factor=10, final_div_factor=100),
}


def main(inputs, steps):
    warnings.filterwarnings("ignore", message="Detected call of")  # composed schedules step before the optimizer
    steps, out = int(steps), {}
    for name, make in SCHEDULES.items():
        groups = [{"params": [torch.zeros(1)]}, {"params": [torch.zeros(1)], "lr": 0.037}]
        opt = torch.optim.Adam(groups, lr=0.1) if name.startswith("adam") else torch.optim.SGD(groups, lr=0.1, momentum=0.9)
        sched = make(opt)
        first = 0
        if inputs:
            first = steps // 2
            sched.load_state_dict(json.loads(bytes(inputs[f"{name} state"].tolist())))
            for group, rate in zip(opt.param_groups, inputs[f"{name} rates"].tolist()):
                group["lr"] = rate
        rows = []
        for step in range(first, steps):
            rows.append([v for g in opt.param_groups for v in (g["lr"], g["betas"][0] if "betas" in g else g["momentum"])])
            opt.step()
            if name.startswith("plateau"):
                sched.step(math.exp(-step / 50) + math.sin(step) / 10)
            elif name.startswith("fraction") and step % 5:
                sched.step((step + 1) / 7)
            else:
                sched.step()
            if step + 1 == steps // 2:
                text = json.dumps(sched.state_dict(), default=lambda v: None)
                out[f"{name} state"] = torch.tensor(list(text.encode()), dtype=torch.uint8)
        out[name] = torch.tensor(rows, dtype=torch.float64)
    return out
