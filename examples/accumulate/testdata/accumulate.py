"""The same training in Python: the loss over all points in the end."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def rings(n):
    labels = torch.rand(n) < 0.5
    radius = 2 - labels.float() + torch.randn(n) * 0.15
    angle = torch.rand(n) * (2 * math.pi)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), labels.long()


def main(inputs, each, points, epochs, size, rate):
    torch.manual_seed(0)
    x, y = rings(int(points))
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=float(rate), momentum=0.9, fused=True)
    steps = 0
    for epoch in range(int(epochs)):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        loader = DataLoader(Subset(TensorDataset(x, y), order.tolist()), batch_size=int(size))
        samples = 0
        for i, (a, b) in enumerate(loader, 1):
            (F.cross_entropy(model(a), b) * len(a)).backward()
            samples += len(a)
            if i % int(each) == 0 or i == len(loader):
                for p in model.parameters():
                    p.grad.div_(samples)
                opt.step()
                opt.zero_grad()
                steps, samples = steps + 1, 0
    with torch.no_grad():
        return {"loss": F.cross_entropy(model(x), y), "steps": steps}
