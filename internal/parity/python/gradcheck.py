"""Says what PyTorch's own gradcheck makes of the cases that record.py records.

    python gradcheck.py DIR [--names REGEXP] [--samples N] [--dtypes D]

Prints a line of JSON for each entry: {"name", "dtype", "refused": {"3": "Jacobian mismatch…"}},
with the index of each case that gradcheck does not accept.
"""

import json
import sys
import warnings

import record
import torch


def hermitian(x, args):
    return (x + x.mH) / 2


def hermitian_if_said(x, args):
    return hermitian(x, args) if args.get("hermitian") == {"b": True} else x


def triangular(x, args):
    return x.triu() if args.get("upper") == {"b": True} else x.tril()


def factor(x, args):
    d = x.diagonal(0, -2, -1)
    if x.is_complex():
        x = x - d.diag_embed() + d.real.diag_embed()
    return triangular(x, args)


def logarithms(x, args):
    return x.log_softmax(2)


CONSTRAINTS = {
    "cholesky": ("self", hermitian), "linalg_cholesky": ("self", hermitian), "linalg_cholesky_ex": ("self", hermitian),
    "linalg_eigh": ("self", hermitian), "linalg_eigvalsh": ("self", hermitian),
    "linalg_pinv.atol_rtol_tensor": ("self", hermitian_if_said), "linalg_pinv.atol_rtol_float": ("self", hermitian_if_said),
    "cholesky_inverse": ("self", factor), "cholesky_solve": ("input2", triangular),
    "ctc_loss.IntList": ("log_probs", logarithms), "ctc_loss.Tensor": ("log_probs", logarithms),
}


def overlaps(d):
    return any(s == 0 and n > 1 for s, n in zip(d.get("stride", ()), d["shape"]))


def gradcheck(chunk, case):
    """gradients.go's differentiable and at."""
    name, _, overload = case["op"].partition(".")
    func = getattr(getattr(torch.ops.aten, name), overload or "default")
    loaded = record.Loader(chunk, case["tensors"]).tensors
    wanted = [i for i, d in enumerate(case["tensors"]) if d.get("grad")]
    for i in wanted:
        if overlaps(case["tensors"][i]):
            loaded[i] = loaded[i].detach().contiguous().requires_grad_()

    def fn(*inputs):
        load = record.Loader(chunk, case["tensors"])
        for i, t in zip(wanted, inputs):
            load.tensors[i] = t
        for v in (case["args"].get(name) for name in case["write"]):
            for x in [v] if v and "t" in v else (v or {}).get("l", []):
                if x:
                    load.tensors[x["t"]] = load.tensors[x["t"]].clone()
        if case["op"] in CONSTRAINTS:
            name, made = CONSTRAINTS[case["op"]]
            i = case["args"][name]["t"]
            load.tensors[i] = made(load.tensors[i], case["args"])
        kwargs = {k: load(v) for k, v in case["args"].items()}
        args = []
        for a in func._schema.arguments:
            if a.name not in kwargs or a.kwarg_only:
                break
            args.append(kwargs.pop(a.name))
        torch.manual_seed(record.SEED)
        out = record.tensors_in(func(*args, **kwargs))
        return tuple(t.to_dense() if t.layout != torch.strided else t for t in out)

    try:
        torch.autograd.gradcheck(fn, tuple(loaded[i] for i in wanted), fast_mode=True)
    except Exception as e:
        return str(e)[:300]
    return ""


def run(op, dtype, limit, opts, chunk, seen):
    record.calls(op, dtype, limit, opts, chunk, seen)
    refused = {}
    for i, case in enumerate(chunk.cases):
        if "grads" in case and not case["inner"]:
            if text := gradcheck(chunk, case):
                refused[i] = text
    return {"refused": refused}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    record.MODES["calls"] = run
    # For the text of a refusal it computes the whole Jacobian, for minutes.
    sys.modules["torch.autograd.gradcheck"]._run_slow_mode_and_get_error = lambda *args: ""
    record.main()
