"""Steps PyTorch's optimizers, with the configurations of its own test database.

main without arguments steps all of them, and those of the test's EXTRA; "resume" goes on from the half-way states of
the test.
"""

import json

import torch

STEPS = 100


def main(inputs, mode, *extra):
    if mode == "resume":
        return resume(inputs, extra)
    results = {}
    for spec in [*specs(), *map(json.loads, extra)]:
        for key, value in run(inputs, spec).items():
            results[f"{json.dumps(spec)}/{key}"] = value
    return results


def specs():
    """Every configuration with every way to compute that the CPU has; complex parameters once."""
    from torch.testing._internal.common_optimizers import optim_db  # takes its time

    for info in optim_db:
        kind = info.optim_cls.__name__
        if info.step_requires_closure:
            continue
        ways = [{"foreach": False} if "foreach" in info.supported_impls else {}]
        if "cpu" in info.supports_fused_on:
            ways = [{"foreach": False, "fused": False}, {"fused": True}]
        for way in ways:
            for config in info.optim_inputs_func(device="cpu"):
                options = {k: v.item() if torch.is_tensor(v) else v for k, v in config.kwargs.items()}
                spec = {"kind": kind, "set": "matrices" if kind == "Muon" else "mixed", "options": complete(kind, options | way)}
                # Others take the number out of the tensor; these two go on with it in float32.
                tensor = torch.is_tensor(config.kwargs.get("lr")) and kind not in ("Muon", "SparseAdam")
                yield spec | ({"tensor": True} if tensor else {})
        if info.supports_complex and not info.only_supports_sparse_grads and kind not in ("Muon", "Adafactor"):
            yield {"kind": kind, "set": "complex", "options": complete(kind, ways[0])}


def complete(kind, options):
    """Names the learning rate, which our constructors ask for."""
    lr = getattr(torch.optim, kind)([torch.zeros(1, 1)], **options).param_groups[0]["lr"]
    return {"lr": lr, **options}


def make(inputs, spec, params):
    groups = [{"params": params}]
    if spec.get("second"):
        groups = [{"params": params[:2]}, {"params": params[2:], **spec["second"]}]
    options = dict(spec["options"])
    if spec.get("tensor"):
        options["lr"] = torch.tensor(options["lr"])
    return getattr(torch.optim, spec["kind"])(groups, **options)


def run(inputs, spec):
    params = [inputs[f"{spec['set']} p{i}"].clone().requires_grad_() for i in range(4)]
    opt = make(inputs, spec, params)
    go(inputs, spec, opt, params, range(STEPS // 2))
    half = {f"half {k}": v.clone() for k, v in state(opt, params).items()}
    go(inputs, spec, opt, params, range(STEPS // 2, STEPS))
    return half | state(opt, params)


def resume(inputs, specs):
    results = {}
    for n, text in enumerate(specs):
        spec = json.loads(text)
        params = [inputs[f"{n} param {i}"].requires_grad_() for i in range(4)]
        opt = make(inputs, spec, params)
        loaded = opt.state_dict()
        loaded["state"] = {}
        for name, value in inputs.items():
            begin, _, rest = name.partition(" ")
            what, _, rest = rest.partition(" ")
            if begin == str(n) and what == "state":
                i, _, key = rest.partition(" ")
                loaded["state"].setdefault(int(i), {})[key] = int(value) if value.dtype == torch.int64 else value
        opt.load_state_dict(loaded)
        go(inputs, spec, opt, params, range(STEPS // 2, STEPS))
        results |= {f"{text}/{k}": v for k, v in state(opt, params).items()}
    return results


def go(inputs, spec, opt, params, steps):
    for step in steps:
        for i, p in enumerate(params):
            if i != 3 or step % 3 != 1:  # the last parameter often has none
                grad = inputs[f"{spec['set']} g{i}"][step]
                p.grad = grad.clamp_min(0.5).sub(0.5).to_sparse() if spec["kind"] == "SparseAdam" else grad.clone()
        if spec.get("scaled"):
            opt.grad_scale, opt.found_inf = torch.tensor(4.0), torch.tensor(float(step in (3, 4)))
        opt.step()
        opt.zero_grad()


def state(opt, params):
    d = opt.state_dict()
    results = {f"param {i}": p for i, p in enumerate(params)}
    for i, s in d["state"].items():
        results |= {f"state {i} {k}": v if torch.is_tensor(v) else torch.tensor(v) for k, v in s.items()}
    for i, g in enumerate(d["param_groups"]):
        for k, v in g.items():
            v = v.item() if torch.is_tensor(v) else v
            if k != "foreach" and isinstance(v, (bool, float, int, tuple, list)):
                v = [-1.0 if x is None else x for x in v] if isinstance(v, (tuple, list)) else v
                results[f"group {i} {k}"] = torch.tensor(v, dtype=torch.float64)
    return results
