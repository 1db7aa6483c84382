"""Rank 1 of two, whose rank 0 is Go's or Python's: what the object collectives give each."""
import json
import os
import tempfile

import torch
import torch.distributed as dist

VALUES = [{"Rank": 0, "Name": "", "List": [1, 2.5, True, None, "\u00fc\U0001f600"], "Big": 2**60},
          {"Rank": 1, "Name": "x" * 300, "List": [[], {}, -1, 1e-9, "two"], "Big": -1}]


def exchange(rank):
    results = []
    for src in (0, 1):
        box = [VALUES[rank]] if rank == src else [None]
        dist.broadcast_object_list(box, src)
        results.append(box[0])
        own = [None]
        dist.scatter_object_list(own, VALUES if rank == src else None, src)
        results.append(own[0])
    everyone = [None, None]
    dist.all_gather_object(everyone, VALUES[rank])
    return results + [everyone]


def main(inputs, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=1, world_size=2)
    results = exchange(1)
    for odd in ((1, 2, (3,)), {1: "one"}, torch.zeros(1)):  # what Go reads, and what it does not
        dist.broadcast_object_list([odd], 1)
    dist.barrier()
    return {"results": torch.frombuffer(bytearray(json.dumps(results), "utf-8"), dtype=torch.uint8)}
