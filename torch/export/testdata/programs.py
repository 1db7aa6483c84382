"""Exports programs and compares them with what Go made of them. Functions for live.py, which yield the names of what they have done:

    write(DIR)       NAME.pt2 for each case, and NAME.pt: what its module says of its inputs
    load(DIR)        runs NAME.pt2, which Go has captured, on the inputs in NAME.pt and compares the results
    check(FROM, TO)  loads TO/NAME.pt2, which Go has saved, and compares it with FROM/NAME.pt
"""

import copy
import os

import torch
import torch.ao.quantization.fx._decomposed  # registers what PT2E puts into programs
from torch.export import export


def copied(tree):
    return torch.utils._pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, tree)


def run(module, inputs):
    calls = []
    unrecorded = copy.deepcopy(module)
    for args, kwargs, *_ in inputs:
        recorded = module(*copied(args), **copied(kwargs))
        with torch.no_grad():  # where some operators have another kernel
            calls.append((args, kwargs, recorded, unrecorded(*copied(args), **copied(kwargs))))
    return calls


def write(directory):
    from cases import CASES  # and torchvision, which takes a second

    for name, (module, inputs, kwargs, shapes, lower) in CASES.items():
        torch.manual_seed(0)
        program = export(module().eval(), inputs[0], kwargs, dynamic_shapes=shapes)
        if lower:
            program = program.run_decompositions()
        torch.export.save(program, os.path.join(directory, name + ".pt2"))
        torch.save(run(program.module(), [(args, kwargs) for args in inputs]), os.path.join(directory, name + ".pt"))
        with open(os.path.join(directory, name + ".txt"), "w") as f:
            f.write(str(program))
        yield name


def same(a, b):
    if not isinstance(a, torch.Tensor):
        return type(a) is type(b) and a == b
    return (a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride() and
            torch.equal(a.resolve_conj().contiguous().reshape(-1).view(torch.uint8), b.resolve_conj().contiguous().reshape(-1).view(torch.uint8)))


def check(source, target):
    for path in sorted(os.listdir(target)):
        want = torch.load(os.path.join(source, path[:-1]), weights_only=False)
        calls = run(torch.export.load(os.path.join(target, path)).module(), want)
        (got, shape), (expected, wanted) = torch.utils._pytree.tree_flatten(calls), torch.utils._pytree.tree_flatten(want)
        assert shape == wanted, (path, shape, wanted)
        for g, e in zip(got, expected, strict=True):
            assert same(g, e), (path, g, e)
        yield path


def load(directory):
    for path in sorted(os.listdir(directory)):
        if not path.endswith(".pt2"):
            continue
        module = torch.export.load(os.path.join(directory, path)).module()
        for inputs, expected in torch.load(os.path.join(directory, path[:-1]), weights_only=False):
            got = torch.utils._pytree.tree_leaves(module(*inputs))
            assert len(got) == len(expected), (path, len(got), len(expected))
            for g, e in zip(got, expected, strict=True):
                assert same(g, e), (path, g, e)
        yield path
