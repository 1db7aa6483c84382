"""Makes the calls of PyTorch's own tests of autocast, in bfloat16 and in float16.

    python autocast.py FILE LISTS DEVICE

LISTS are those for the "cpu" or for "cuda", and DEVICE is where the calls are made: both lists can be
gone through on a CPU. The file is one of record.py's. A case says in which dtype autocast computes
and, where the lists are the device's own, what the operator's arguments are cast to in the end, or
nothing where it promotes them by itself.
"""

import sys

import torch
from record import SEED, Above, Recorder, dump_out, failure, prepare
from torch.testing._internal.autocast_test_lists import AutocastCPUTestLists, AutocastTestLists
from values import Chunk

MODES = (torch.bfloat16, torch.float16)
LISTS = {"cpu": AutocastCPUTestLists, "cuda": AutocastTestLists}
NAMESPACES = {"methods": torch.Tensor, "nn": torch._C._nn, "linalg": torch._C._linalg, "banned": torch._C._nn}


def entries(lists):
    """(list, operator, arguments for each mode, further arguments)"""
    for group, entry in ((k, e) for k, v in vars(lists).items() for e in v):
        op, first, *rest = entry
        if isinstance(first, str):
            continue  # einsum, of matrices that do not fit its equation: PyTorch's test passes it over, too
        rest = rest[0] if rest else None
        own = isinstance(rest, tuple)  # arguments for float16; else the dtype of the result, or such
        yield group, op, (first, rest if own else first), rest if isinstance(rest, dict) else {}


def function(group, op):
    """The call as a program makes it; __div__ was an operator of Python 2."""
    return getattr(NAMESPACES.get(group.partition("_")[0], torch), op)


def cast_to(group, mode):
    if group.endswith("16"):
        return mode
    return None if group.endswith("builtin_promote") or group == "banned" else torch.float32


def keep(chunk, device, group, op, args, more, mode, to):
    recorder = Recorder(chunk, 1, {})
    with torch.no_grad(), Above(recorder.keep):
        try:
            function(group, op)(*args, **more)
        except RuntimeError:
            pass  # there is no kernel but for what autocast makes of the arguments
    assert not recorder.skipped, recorder.skipped
    (func, case), = recorder.pending
    case.pop("returned", None)
    case |= {"list": group, "autocast": str(mode)[6:], "cast": str(to)[6:] if to else ""}
    _, args, kwargs, _ = prepare(chunk, func, case)
    torch.manual_seed(SEED)
    with torch.autocast(device, dtype=mode):
        try:
            out = func(*args, **kwargs)
        except Exception as e:
            case["error"] = failure(e)
        else:
            case["out"] = [dump_out(chunk, x) for x in (out if isinstance(out, tuple) else [out])]
    chunk.cases.append(case)


def main(path, name, device):
    torch.set_num_threads(1)
    torch._C._set_cudnn_deterministic(True)  # torch.testing lets nobody do so through torch.backends
    torch.manual_seed(SEED)
    chunk = Chunk()
    for group, op, args, more in entries(LISTS[name](torch.device(device))):
        for own, mode in zip(args, MODES):
            keep(chunk, device, group, op, own, more, mode, cast_to(group, mode) if name == device else None)
    chunk.write(path, "autocast")


main(*sys.argv[1:])
