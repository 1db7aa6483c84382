"""Exports entries of op_db, the database of PyTorch's own tests of operators, as programs of one call. A function for live.py:

    write(DIR, EVERY, PATTERN)    NNNN.pt2 and NNNN.pt, what it says of its inputs, for each EVERY-th entry with such a name

It yields for each its name, the file's number or why there is none, and whether its results are what memory has in it.
"""

import os
import re

import torch
from torch import nn
from torch.export import export
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

UNSET = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
PREFERRED = (torch.float32, torch.complex64, torch.int64, torch.bool)
SAMPLES = 8  # are tried until one can be exported


class One(nn.Module):
    """A call of an operator, whose tensors are the inputs."""

    def __init__(self, op, leaves, spec):
        super().__init__()
        self.op, self.leaves, self.spec = op, [None if isinstance(v, torch.Tensor) else v for v in leaves], spec
        self.given = [isinstance(v, torch.Tensor) for v in leaves]

    def forward(self, *tensors):
        rest = iter(tensors)
        args, kwargs = pytree.tree_unflatten([next(rest) if g else v for g, v in zip(self.given, self.leaves)], self.spec)
        out = self.op(*args, **kwargs)
        if isinstance(out, tuple) and type(out) is not tuple:
            out = tuple(out)  # named ones are not all known to export
        return out


def attempt(entry, sample, path):
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    inputs = tuple(v.detach().clone() for v in leaves if isinstance(v, torch.Tensor))
    module = One(entry.op, leaves, spec)
    torch.manual_seed(0)
    program = export(module, copied(inputs))
    torch.export.save(program, path + ".pt2")
    run, results = torch.export.load(path + ".pt2").module(), []
    for grad in (True, False):
        torch.manual_seed(0)
        with torch.set_grad_enabled(grad):
            results.append(run(*copied(inputs)))
    torch.save([(inputs, {}, *results)], path + ".pt")


def copied(inputs):
    return tuple(v.clone() for v in inputs)


def write(directory, every, pattern):
    for i, entry in enumerate(op_db):
        line = {"name": entry.name + ("." + entry.variant_test_name if entry.variant_test_name else "")}
        if i % int(every) != 3 % int(every) or not re.search(pattern, line["name"]):
            continue
        line["unset"] = entry.name in UNSET
        dtypes = entry.supported_dtypes("cpu")
        dtype = next((d for d in PREFERRED if d in dtypes), None)
        try:
            samples = entry.sample_inputs("cpu", dtype, requires_grad=False)
            for _, sample in zip(range(SAMPLES), samples):
                try:
                    attempt(entry, sample, os.path.join(directory, f"{i:04}"))
                    line["file"] = f"{i:04}"
                    line.pop("why", None)
                    break
                except Exception as e:
                    line["why"] = (type(e).__name__ + ": " + str(e).strip().split("\n")[0])[:200]
        except Exception as e:
            line["why"] = type(e).__name__ + ": " + str(e)[:200]
        yield line
