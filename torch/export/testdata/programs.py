"""Exports programs and compares them with what Go made of them. Functions for live.py, which yield the names of what they have done:

    write(DIR, LARGE)  NAME.pt2 for each case, large ones only with a word, and NAME.pt: what its module says of its inputs
    load(DIR)          runs NAME.pt2, which Go has captured, on the inputs in NAME.pt and compares the results
    check(FROM, TO)    loads TO/NAME.pt2, which Go has saved, and compares it with FROM/NAME.pt
"""

import copy
import os

import torch
from torch.export import export

from cases import CASES


def copied(tree):
    return torch.utils._pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, tree)


def run(program, name):
    _, inputs, kwargs, *_ = CASES[name]
    module, calls = program.module(), []
    unrecorded = copy.deepcopy(module)
    for args in inputs:
        recorded = module(*copied(args), **copied(kwargs))
        with torch.no_grad():  # where some operators have another kernel
            calls.append((args, kwargs, recorded, unrecorded(*copied(args), **copied(kwargs))))
    return calls


def write(directory, large):
    for name, (module, inputs, kwargs, shapes, lower, is_large) in CASES.items():
        if is_large and not large:
            continue
        torch.manual_seed(0)
        program = export(module().eval(), inputs[0], kwargs, dynamic_shapes=shapes)
        if lower:
            program = program.run_decompositions()
        torch.export.save(program, os.path.join(directory, name + ".pt2"))
        torch.save(run(program, name), os.path.join(directory, name + ".pt"))
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
        name = path.removesuffix(".pt2")
        program = torch.export.load(os.path.join(target, path))
        want = torch.load(os.path.join(source, name + ".pt"), weights_only=False)
        for (_, _, got, _), (_, _, expected, _) in zip(run(program, name), want, strict=True):
            got, expected = torch.utils._pytree.tree_flatten(got), torch.utils._pytree.tree_flatten(expected)
            assert got[1] == expected[1], (name, got[1], expected[1])
            for g, e in zip(got[0], expected[0], strict=True):
                assert same(g, e), (name, g, e)
        yield name


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
