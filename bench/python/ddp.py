"""A rank of Python's side of bench/ddp.sh: it answers the questions of bench/ddp as the ranks in Go do (rank.go), a line of JSON each."""
import json
import sys
import time

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torchvision import models

DEFAULT_BUCKET = 25  # MB


class Training:
    """A model with its data."""

    def __init__(self, q):
        torch.manual_seed(0)
        net = models.resnet18()
        self.ddp = DistributedDataParallel(net, **({} if q["Bucket"] == DEFAULT_BUCKET else {"bucket_cap_mb": q["Bucket"]}))
        self.opt = torch.optim.SGD(net.parameters(), 0.01, fused=True)
        self.x, self.y = torch.randn(q["Batch"], 3, q["Size"], q["Size"]), torch.randint(1000, (q["Batch"],))
        self.whole = torch.ones(sum(p.numel() for p in net.parameters()))

    def steps(self, net, count):
        """Makes steps; the means of their times."""
        forward = backward = 0
        began = time.perf_counter()
        for _ in range(count):
            start = time.perf_counter()
            loss = F.cross_entropy(net(self.x), self.y)
            half = time.perf_counter()
            loss.backward()
            forward += half - start
            backward += time.perf_counter() - half
            self.opt.step()
            self.opt.zero_grad()
        return {"Seconds": (time.perf_counter() - began) / count, "Forward": forward / count, "Backward": backward / count}

    def last_bucket(self, mb):
        following = int(mb * (1 << 20))
        limit, full = 1 << 20 if mb == DEFAULT_BUCKET else following, 0
        for p in reversed(list(self.ddp.parameters())):
            if full >= limit:
                limit, full = following, 0
            full += p.numel() * p.element_size()
        return full

    def answer(self, q):
        if q["Do"] == "make":
            self.steps(self.ddp, 2)  # buckets are made anew after the first
            return {"Bytes": sum(p.numel() * p.element_size() for p in self.ddp.parameters()), "Last": self.last_bucket(q["Bucket"])}
        if q["Do"] == "alone":
            return self.steps(self.ddp.module, q["Steps"])
        dist.barrier()
        if q["Do"] == "exchange":
            began = time.perf_counter()
            dist.all_reduce(self.whole)
            return {"Seconds": time.perf_counter() - began}
        reply = self.steps(self.ddp, q["Steps"])
        logged = self.ddp._get_ddp_logging_data()
        reply["First"] = (logged.get("avg_backward_compute_time", 0) - logged.get("avg_backward_compute_comm_overlap_time", 0)) / 1e9
        return reply


dist.init_process_group("gloo")
torch.set_num_threads(1)
training = None
for line in sys.stdin:
    question = json.loads(line)
    if question["Do"] == "make":
        training = None
        training = Training(question)
    print(json.dumps(training.answer(question)), flush=True)
dist.destroy_process_group()
