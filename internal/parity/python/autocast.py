"""Makes the calls of PyTorch's own test of autocast on the CPU, for both of its dtypes.

    python autocast.py FILE

The file is one of record.py's. A case says in which dtype autocast computes and what the operator's
arguments are cast to in the end, or nothing where it promotes them by itself.
"""

import sys

import torch
from record import SEED, Above, Recorder, dump_out, failure, prepare
from torch.testing._internal.autocast_test_lists import AutocastCPUTestLists
from values import Chunk

MODES = (torch.bfloat16, torch.float16)


def entries(lists):
    """(list, operator, arguments for each mode, further arguments)"""
    for group, entry in ((k, e) for k, v in vars(lists).items() for e in v):
        op, first, *rest = entry
        own = bool(rest) and isinstance(rest[0], tuple)  # arguments for float16
        more = rest[0] if rest and isinstance(rest[0], dict) else {}
        yield group, op, (first, rest[0] if own else first), more


def function(group, op):
    """The call as a program makes it; __div__ was an operator of Python 2."""
    if group.startswith("methods"):
        return getattr(torch.Tensor, op)
    return getattr(torch._C._nn if group.startswith("nn_") else torch, op)


def cast_to(group, mode):
    if group.endswith("_16"):
        return mode
    return None if group.endswith("builtin_promote") else torch.float32


def keep(chunk, group, op, args, more, mode):
    recorder = Recorder(chunk, 1, {})
    with torch.no_grad(), Above(recorder.keep):
        try:
            function(group, op)(*args, **more)
        except NotImplementedError:
            pass  # there is no kernel but for what autocast makes of the arguments
    assert not recorder.skipped, recorder.skipped
    (func, case), = recorder.pending
    case.pop("returned", None)
    to = cast_to(group, mode)
    case |= {"list": group, "autocast": str(mode)[6:], "cast": str(to)[6:] if to else ""}
    _, args, kwargs, _ = prepare(chunk, func, case)
    torch.manual_seed(SEED)
    with torch.autocast("cpu", dtype=mode):
        try:
            out = func(*args, **kwargs)
        except Exception as e:
            case["error"] = failure(e)
        else:
            case["out"] = [dump_out(chunk, x) for x in (out if isinstance(out, tuple) else [out])]
    chunk.cases.append(case)


def main(path):
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    chunk = Chunk()
    for group, op, args, more in entries(AutocastCPUTestLists(torch.device("cpu"))):
        for own, mode in zip(args, MODES):
            keep(chunk, group, op, own, more, mode)
    chunk.write(path, "autocast")


main(*sys.argv[1:])
