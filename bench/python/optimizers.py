"""One step of an optimizer over 62 tensors, as many as ResNet-18 has parameters."""

import torch

from tensors import digest

TENSORS = 62
SIZES = (16, 1024, 16384)
MAKERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=5e-4, fused=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, fused=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01, fused=True),
}


class Case:
    def __init__(self, make, size):
        ramp = torch.arange(size, dtype=torch.float32) / size
        self.parameters = [(ramp + i).requires_grad_() for i in range(TENSORS)]
        for p in self.parameters:
            p.grad = ramp - 0.5
        self.optimizer = make(self.parameters)

    def run(self, n):
        for _ in range(n):
            self.optimizer.step()

    def check(self):
        self.run(3)
        return digest(self.parameters)


CASES = {
    f"{name} step, 62 x {size}": (lambda file, m=make, s=size: Case(m, s))
    for name, make in MAKERS.items()
    for size in SIZES
}
