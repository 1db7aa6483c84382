"""What Go's divided optimizer saved, loaded by ZeroRedundancyOptimizer on two ranks and by an optimizer alone, and trained on."""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from ddp import Net  # noqa: E402


def train(inputs, path, first, rank, divided):
    saved = torch.load(path)
    ddp = DistributedDataParallel(Net())
    ddp.load_state_dict(saved["model"])
    if divided:
        opt = ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.AdamW, lr=1e-3, fused=True)
    else:
        opt = torch.optim.AdamW(ddp.parameters(), lr=1e-3, fused=True)
    opt.load_state_dict(saved["optimizer"])
    for x, y in zip(inputs["net.x"][first:, rank], inputs["net.y"][first:, rank]):
        opt.zero_grad()
        F.cross_entropy(ddp(x, False), y).backward()
        opt.step()
    if divided:
        opt.consolidate_state_dict(0)
    results = {}
    if rank == 0:
        results = {f"model.{k}": v for k, v in ddp.state_dict().items()}
        for n, slots in opt.state_dict()["state"].items():
            results.update({f"{n}.{k}": v for k, v in slots.items()})
    return results


def main(inputs, path, first):
    store = os.path.join(tempfile.mkdtemp(), "store")
    rank = 0 if os.fork() else 1
    try:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
        results = {}
        for name in ("divided", "whole"):
            results.update({f"{name}.{k}": v for k, v in train(inputs, path, int(first), rank, name == "divided").items()})
        dist.barrier()
    finally:
        if rank == 1:
            os._exit(0)
    os.wait()
    return results
