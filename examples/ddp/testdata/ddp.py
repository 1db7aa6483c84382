"""The same training in Python, on each of some numbers of ranks: the losses of all ranks, and the weights of rank 0."""
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, transforms


def train(rank, n, size, classes, epochs, steps, batch):
    torch.manual_seed(0)
    model = DistributedDataParallel(models.resnet18(num_classes=classes))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, fused=True)
    data = datasets.FakeData(n, (3, size, size), classes, transforms.ToTensor())
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch, sampler=sampler)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for step, (x, y) in enumerate(loader):
            if step == steps:
                break
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.detach())
    return torch.stack(losses), model.module.state_dict()


def main(inputs, worlds, *args):
    worlds = [int(n) for n in worlds.split(",")]
    folder = tempfile.mkdtemp()
    rank = next((r for r in range(1, max(worlds)) if os.fork() == 0), 0)
    results = {}
    try:
        for world in worlds:
            if rank < world:
                dist.init_process_group("gloo", init_method=f"file://{folder}/{world}", rank=rank, world_size=world)
                losses, state = train(rank, *map(int, args))
                everyone = [torch.empty_like(losses) for _ in range(world)]
                dist.all_gather(everyone, losses)
                results[f"{world}.losses"] = torch.stack(everyone)
                results.update({f"{world}.{name}": t for name, t in state.items()})
                dist.destroy_process_group()
    finally:
        if rank > 0:
            os._exit(0)
    for _ in range(1, max(worlds)):
        os.wait()
    return results
