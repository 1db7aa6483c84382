"""Device meshes on forked ranks: where each rank is, and whom it shares groups with."""
import os
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def described(mesh, name, rank):
    """What Go's test describes by the same names."""
    results = {f"{name}.mesh": mesh.mesh}
    if mesh.get_coordinate() is None:
        return results
    results[f"{name}.coordinate"] = torch.tensor(mesh.get_coordinate())
    for dim in mesh.mesh_dim_names:
        group = mesh.get_group(dim)
        results[f"{name}.{dim}.ranks"] = torch.tensor(dist.get_process_group_ranks(group))
        results[f"{name}.{dim}.rank"] = torch.tensor([mesh.get_local_rank(dim)])
        total = torch.tensor([float(rank + 1)])
        dist.all_reduce(total, group=group)
        results[f"{name}.{dim}.sum"] = total
    return results


def meshes(rank):
    square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    line = init_device_mesh("cpu", (4,), mesh_dim_names=("all",))
    cube = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
    part = cube["a", "b"]
    small = init_device_mesh("cpu", (3,), mesh_dim_names=("some",))
    flat = part._flatten("a_b")
    all_of = {"square": square, "tp": square["tp"], "line": line, "cube": cube, "part": part, "flat": flat, "small": small}
    results = {}
    for name, mesh in all_of.items():
        results.update({f"{rank}.{k}": v for k, v in described(mesh, name, rank).items()})
    return results


def main(inputs):
    folder = tempfile.mkdtemp()
    rank = next((r for r in range(1, 4) if os.fork() == 0), 0)
    try:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=4)
        results = meshes(rank)
        if rank > 0:
            torch.save(results, f"{folder}/{rank}.pt")
        dist.barrier()
    finally:
        if rank > 0:
            os._exit(0)
    for r in range(1, 4):
        os.wait()
    for r in range(1, 4):
        results.update(torch.load(f"{folder}/{r}.pt"))
    return results
