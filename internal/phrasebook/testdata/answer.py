"""Runs phrases: one JSON object with a setup and a phrase a line comes in, one answer goes out.

The answer is the value of the phrase's last line: of an expression its value, of an assignment
what was assigned to, of a block that of its last line.
"""

import ast
import copy
import json
import math
import os
import struct
import sys
import warnings

import numpy as np
import safetensors.torch
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import torch.optim.lr_scheduler as lr_scheduler
import torchvision
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)
from torch.utils.data.distributed import DistributedSampler
from torchvision import ops, tv_tensors
from torchvision.datasets import FakeData, ImageFolder
from torchvision.io import decode_image, encode_jpeg, encode_png, read_image, write_png
from torchvision.transforms import v2
from torchvision.utils import draw_bounding_boxes, draw_segmentation_masks, make_grid


def say(v):
    """The value as text: equal for equal values in Go."""
    if v is None:
        return "none"
    if isinstance(v, torch.Tensor):
        t = v.detach().resolve_conj().resolve_neg().cpu().contiguous()
        bits = t.reshape(-1).view(torch.uint8).numpy().tobytes().hex() if t.numel() else ""
        return f"tensor({say(v.dtype)}, {list(v.shape)}, strides {list(v.stride())}, grad {say(v.requires_grad)}) {bits}"
    if isinstance(v, (bool, np.bool_)):
        return str(bool(v)).lower()
    if isinstance(v, (int, np.integer)):
        return str(int(v))
    if isinstance(v, (float, np.floating)):
        return "float " + struct.pack(">d", v).hex()
    if isinstance(v, complex):
        return f"complex({say(v.real)}, {say(v.imag)})"
    if isinstance(v, str):
        return v
    if isinstance(v, dict):
        return "{" + ", ".join(f"{k}: {say(v[k])}" for k in sorted(v, key=str)) + "}"
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(say(e) for e in v) + "]"
    return str(v).removeprefix("torch.")


def values(node, names):
    """What the assignment target names after it has run."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return [values(e, names) for e in node.elts]
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return names[node.id]


def last(node, names):
    if isinstance(node, ast.Assign):
        return values(node.targets[0], names)
    if isinstance(node, ast.AugAssign):
        return values(node.target, names)
    if hasattr(node, "body"):
        return last(node.body[-1], names)
    raise TypeError(f"{type(node).__name__} leaves no value")


def run(code, names):
    tree = ast.parse(code)
    end = tree.body[-1]
    if not isinstance(end, ast.Expr):
        exec(compile(tree, "phrase", "exec"), names)
        return last(end, names)
    exec(compile(ast.Module(tree.body[:-1], []), "phrase", "exec"), names)
    return eval(compile(ast.Expression(end.value), "phrase", "eval"), names)


def answer(setup, phrase, path):
    names = dict(globals(), path=path)
    torch.manual_seed(0)
    try:
        exec(setup, names)
        return {"value": say(run(phrase, names))}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}


warnings.simplefilter("ignore")
torch.set_num_threads(1)
for line in sys.stdin:
    print(json.dumps(answer(**json.loads(line))), flush=True)
