"""Modules, their calls and their inputs as a Go test lists them: each case is an argument, the
Python text of a module and, after a newline, of a call of it. The seed is the position."""

import torch
import torch.nn.functional as F
from torch import nn

torch.backends.mha.set_fastpath_enabled(False)  # it has other kernels than training has


def main(inputs, *cases):
    results = {}
    for mode in ("train", "eval"):
        for seed, case in enumerate(cases):
            text, call = case.split("\n")
            torch.manual_seed(seed)
            names = {"nn": nn, "torch": torch, "F": F}
            m = eval(text, names).train(mode == "train")
            x = [value.clone() for key, value in sorted(inputs.items()) if key.startswith(f"{seed:03}/")]
            for key, value in run(m, x, lambda: eval(call, names | {"m": m, "x": x})).items():
                results[f"{mode}/{seed}/{key}"] = value
    return results


def run(m, x, call):
    results = {f"initial {key}": value.clone() for key, value in m.state_dict().items()}
    for t in x:
        t.requires_grad_(t.is_floating_point())
    y = call()
    loss = 0
    for i, t in enumerate(flat(y)):
        results[f"y{i}"] = t.clone()
        if t.requires_grad:
            loss = loss + (t * t).sum()
    if torch.is_tensor(loss):
        loss.backward()
    for i, t in enumerate(x):
        if t.grad is not None:
            results[f"dx{i}"] = t.grad
    for key, value in m.named_parameters():
        if value.grad is not None:
            results[f"grad {key}"] = value.grad
    for key, value in m.state_dict().items():
        results[f"final {key}"] = value
    results["state dict"] = torch.tensor(list("\n".join(m.state_dict()).encode()), dtype=torch.uint8)
    return results


def flat(y):
    if torch.is_tensor(y):
        return [y]
    return [t for part in y if part is not None for t in flat(part)]
