"""A training step of a network of three linear layers on a batch of 64."""

import torch
from torch import nn

from tensors import digest


def pattern(n, step, period):
    return (torch.arange(n) * step % period).to(torch.float32) / (period // 2) - 1


class Case:
    def __init__(self, make, checked=3):
        self.checked = checked
        self.model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
        with torch.no_grad():
            for p in self.model.parameters():
                p.copy_((pattern(p.numel(), 7919, 1024) * 0.0625).reshape(p.shape))
        self.images, self.labels = pattern(64 * 784, 31, 256).reshape(64, 784), torch.arange(64) % 10
        self.optimizer = make(self.model.parameters())

    def run(self, n):
        for _ in range(n):
            loss = nn.functional.cross_entropy(self.model(self.images), self.labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def check(self):
        self.run(self.checked)
        return digest(self.model.parameters())


class Products:
    """The eight products of matrices of a step, and nothing else."""

    def __init__(self, file):
        self.x = pattern(64 * 784, 31, 256).reshape(64, 784)
        self.layers = [
            (pattern(n * k, 7919, 1024).reshape(k, n), pattern(64 * k, 101, 512).reshape(64, k))
            for n, k in ((784, 256), (256, 128), (128, 10))
        ]

    def step(self):
        x, out = self.x, []
        for i, (w, g) in enumerate(self.layers):
            y = x.mm(w.T)
            out += [y, g.T.mm(x)]
            if i > 0:
                out.append(g.mm(w))
            x = y
        return out

    def run(self, n):
        with torch.no_grad():
            for _ in range(n):
                self.step()

    def check(self):
        return digest(self.step())


# Python's fastest way here: fused=True takes less time than foreach and than the loop that is its default.
OPTIMIZERS = {
    "MLP, SGD": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, fused=True),
    "MLP, AdamW": lambda p: torch.optim.AdamW(p, lr=0.001, fused=True),
}
CASES = {name: lambda file, make=make: Case(make) for name, make in OPTIMIZERS.items()}
CASES |= {name + ", recorded": lambda file, make=make: Case(make, checked=6) for name, make in OPTIMIZERS.items()}
CASES["MLP, its products alone"] = Products
