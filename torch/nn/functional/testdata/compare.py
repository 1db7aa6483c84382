"""What the scripts beside this one have in common."""

import torch


def results(functions, inputs):
    """The result of every function, and the gradients of all inputs that can have one."""
    values = {}
    for seed, (name, function) in enumerate(functions.items()):
        leaves = {k: v.clone().requires_grad_(v.is_floating_point() and not k.startswith("const_")) for k, v in inputs.items()}
        torch.manual_seed(seed)
        y = function(leaves)
        values[f"{name}/y"] = y.clone()
        if y.requires_grad:
            (y * y).sum().backward()
        values |= {f"{name}/{k}": v.grad for k, v in leaves.items() if v.grad is not None}
    return values


def pair(a, b):
    """One tensor of two."""
    return a if b is None else torch.cat([a.reshape(-1), b.reshape(-1).to(a.dtype)])
