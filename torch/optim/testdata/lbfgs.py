"""Steps PyTorch's L-BFGS, with the configurations of its own test database, on a small network.

main with "resume" goes on from the half-way states of the test.
"""

import json

import torch

STEPS = 6


def main(inputs, mode, *names):
    if mode == "resume":
        return resume(inputs, names)
    results = {}
    for options in configurations():
        for dtype in ("float32", "float64"):
            name = json.dumps({"options": options, "dtype": dtype})
            params = parameters(inputs, dtype)
            opt = torch.optim.LBFGS(params, **options)
            losses = go(inputs, opt, params, STEPS // 2)
            half = {f"half {k}": v.clone() for k, v in state(opt, params).items()}
            losses += go(inputs, opt, params, STEPS - STEPS // 2)
            values = {"losses": torch.tensor(losses, dtype=torch.float64), **half, **state(opt, params)}
            results |= {f"{name}/{k}": v for k, v in values.items()}
    return results


def configurations():
    from torch.testing._internal.common_optimizers import optim_inputs_func_lbfgs  # takes its time

    for config in optim_inputs_func_lbfgs("cpu"):
        options = {k: v.item() if torch.is_tensor(v) else v for k, v in config.kwargs.items()}
        yield {"lr": 1.0, **options}
    yield {"lr": 0.5, "history_size": 3, "max_iter": 7, "line_search_fn": "strong_wolfe"}


def parameters(inputs, dtype):
    return [inputs[f"p{i}"].clone().to(getattr(torch, dtype)).requires_grad_() for i in range(3)]


def go(inputs, opt, params, steps):
    x, y = inputs["x"].to(params[0].dtype), inputs["y"].to(params[0].dtype)

    def closure():
        opt.zero_grad()
        loss = (((x @ params[0] + params[1]).tanh() @ params[2]) - y).square().mean()
        loss.backward()
        return loss

    return [opt.step(closure).item() for _ in range(steps)]


def resume(inputs, names):
    inputs = {k: v.clone() for k, v in inputs.items()}  # the last bit of a product may depend on where its factors lie
    results = {}
    for n, name in enumerate(names):
        options = json.loads(name)["options"]
        params = [inputs[f"{n} param {i}"].requires_grad_() for i in range(3)]
        opt = torch.optim.LBFGS(params, **options)
        loaded = opt.state_dict()
        own = {k.removeprefix(f"{n} state 0 "): v for k, v in inputs.items() if k.startswith(f"{n} state 0 ")}
        lists = {k: [v.clone() for v in own[k].unbind()] for k in ("old_dirs", "old_stps", "ro") if k in own}
        loaded["state"] = {0: {k: v.item() if v.dtype == torch.int64 or k == "prev_loss" else v for k, v in own.items()} | lists}
        opt.load_state_dict(loaded)
        go(inputs, opt, params, STEPS - STEPS // 2)
        results |= {f"{name}/{k}": v for k, v in state(opt, params).items()}
    return results


def state(opt, params):
    results = {f"param {i}": p for i, p in enumerate(params)}
    for k, v in opt.state_dict()["state"][0].items():
        if k == "al" or v == []:  # al is forgotten between iterations
            continue
        if isinstance(v, list):
            v = torch.stack(v)
        results[f"state 0 {k}"] = v if torch.is_tensor(v) else torch.tensor(v, dtype=torch.int64 if k in ("func_evals", "n_iter") else torch.float64)
    return results
