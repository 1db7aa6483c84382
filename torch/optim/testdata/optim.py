"""Steps every optimizer of optim_test.go with the same parameters and gradients."""

import json

import torch

MAKE = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
STEPS = 10


def main(inputs, *specs):
    results = {}
    for spec in specs:
        for key, value in run(inputs, **json.loads(spec)).items():
            results[f"{spec}/{key}"] = value
    return results


def run(inputs, kind, options, second=None, scaled=False):
    params = [inputs[f"p{i}"].clone().requires_grad_() for i in range(4)]
    groups = [{"params": params}] if second is None else [{"params": params[:2]}, {"params": params[2:], **second}]
    opt = MAKE[kind](groups, fused=True, **options)
    results = {}
    for step in range(STEPS):
        if step == STEPS // 2:
            results = {f"half {k}": v.clone() for k, v in state(opt, params).items()}
        gradients(inputs, params, step)
        if scaled:
            opt.grad_scale, opt.found_inf = torch.tensor(4.0), torch.tensor(float(step in (3, 4)))
        opt.step()
        opt.zero_grad()
    return results | state(opt, params)


def gradients(inputs, params, step):
    for i, p in enumerate(params):
        if i != 3 or step % 3 != 1:  # the last parameter often has none
            p.grad = inputs[f"g{step}.{i}"].clone()


def state(opt, params):
    d = opt.state_dict()
    results = {f"param {i}": p for i, p in enumerate(params)}
    for i, s in d["state"].items():
        results |= {f"state {i} {k}": v for k, v in s.items()}
    for i, g in enumerate(d["param_groups"]):
        numbers = {k: v for k, v in g.items() if isinstance(v, (bool, float, int, tuple, list))}
        results |= {f"group {i} {k}": torch.tensor(v, dtype=torch.float64) for k, v in numbers.items()}
    return results
