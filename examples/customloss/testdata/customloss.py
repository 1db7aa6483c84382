"""The same training in Python: the mean loss of each epoch, and what is found in the end."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def focal_loss(scores, target, gamma):
    log_p = scores.log_softmax(1).gather(1, target.unsqueeze(1)).squeeze()
    return ((1 - log_p.exp()) ** gamma * log_p).neg().mean()


def rings(n, inner):
    labels = torch.rand(n) < inner
    radius = 2 - labels.float() + torch.randn(n) * 0.15
    angle = torch.rand(n) * (2 * math.pi)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), labels.long()


def main(inputs, gamma, rare, points, epochs, size, rate):
    torch.manual_seed(0)
    x, y = rings(int(points), float(rare))
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=float(rate), fused=True)
    losses = []
    for epoch in range(int(epochs)):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        total = 0.0
        for a, b in DataLoader(Subset(TensorDataset(x, y), order.tolist()), batch_size=int(size)):
            loss = focal_loss(model(a), b, float(gamma))
            loss.backward()
            opt.step()
            opt.zero_grad()
            total += loss.item() * len(a)
        losses.append(total / len(x))
    with torch.no_grad():
        scores = model(x)
    found = (scores.argmax(1) * y).sum()
    return {"losses": torch.tensor(losses, dtype=torch.float64), "found": found, "rare": y.sum(), "entropy": F.cross_entropy(scores, y)}
