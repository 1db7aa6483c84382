"""Trainings by DistributedDataParallel, on forked ranks or as one rank among others."""
import os
import tempfile
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.bn2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(144, 10)

    def forward(self, x, other):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.flatten(1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.even = nn.Linear(16, 10)
        self.odd = nn.Linear(16, 10)

    def forward(self, x, other):
        x = self.encoder(x).mean(1)
        return self.odd(x) if other else self.even(x)


class Twins(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.second = nn.Linear(16, 16)
        self.last = nn.Linear(16, 10)

    def forward(self, x, other):
        return self.last(F.relu(self.second(F.relu(self.first(x.mean(1))))))


def train(inputs, config, rank, size):
    config = dict(part.split("=") for part in config.split(","))
    model = {"net": Net, "transformer": Transformer, "twins": Twins}[config["model"]]()
    model.load_state_dict({k.removeprefix("state."): v for k, v in inputs.items() if k.startswith("state.")})
    flags = {k: True for k in ("find_unused_parameters", "gradient_as_bucket_view", "static_graph") if k in config}
    ddp = DistributedDataParallel(model, bucket_cap_mb=float(config.get("cap", 25)), **flags)
    if "power" in config:
        rank_of, same, kept = config["power"].split("/")
        state = powerSGD_hook.PowerSGDState(
            None, int(rank_of), start_powerSGD_iter=3, min_compression_rate=1, use_error_feedback=kept == "1", warm_start=kept == "1",
            orthogonalization_epsilon=1e-8, random_seed=7, batch_tensors_with_same_shape=same == "1")
        ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    if "hook" in config:
        ddp.register_comm_hook(None, {"fp16": default_hooks.fp16_compress_hook, "bf16": default_hooks.bf16_compress_hook}[config["hook"]])
    if "zero" in config:
        opt = ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9, fused=True)
    else:
        opt = torch.optim.SGD(ddp.parameters(), 0.05, momentum=0.9, fused=True)
    if "uneven" in config:
        members = [ddp, opt] if "zero" in config else [ddp]
        with Join(members, divide_by_initial_world_size=config["uneven"] == "initial"):
            steps(inputs, config, ddp, opt, rank, 5 + 2 * rank)
    else:
        steps(inputs, config, ddp, opt, rank, inputs["x"].shape[0])
    return {k: v.clone() for k, v in ddp.state_dict().items()}


def steps(inputs, config, ddp, opt, rank, count):
    micro = int(config.get("micro", 1))
    for step in range(count):
        xs, ys = inputs["x"][step, rank].chunk(micro), inputs["y"][step, rank].chunk(micro)
        for i in range(micro):
            with ddp.no_sync() if i < micro - 1 else nullcontext():
                with torch.autocast("cpu", torch.bfloat16) if "autocast" in config else nullcontext():
                    loss = F.cross_entropy(ddp(xs[i], (step + rank) % 3 == 0), ys[i])
                loss.backward()
        opt.step()
        opt.zero_grad()


def trainings(inputs, configs, rank, size):
    """All trainings, one after the other; what they take and give is named after the model and their number."""
    results = {}
    for i, config in enumerate(configs.split(";")):
        model = dict(part.split("=") for part in config.split(","))["model"]
        own = {k.removeprefix(model + "."): v for k, v in inputs.items() if k.startswith(model + ".")}
        results.update({f"{i}.{k}": v for k, v in train(own, config, rank, size).items()})
    return results


def main(inputs, configs, size, rank="", port=""):
    size = int(size)
    if rank:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=int(rank), world_size=size)
        results = trainings(inputs, configs, int(rank), size)
        dist.barrier()
        return results
    store = os.path.join(tempfile.mkdtemp(), "store")
    rank = next((r for r in range(1, size) if os.fork() == 0), 0)
    try:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
        results = trainings(inputs, configs, rank, size)
        dist.barrier()
    finally:
        if rank > 0:
            os._exit(0)
    for _ in range(1, size):
        os.wait()
    return results
