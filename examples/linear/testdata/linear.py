"""The same fit in Python: the mean loss of each epoch, and the plane."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def main(inputs, points, noise, epochs, size, rate):
    torch.manual_seed(0)
    x = torch.randn(int(points), 2)
    y = x @ torch.tensor([[2.0], [-3.0]]) + 1
    y = y + torch.randn(int(points), 1) * float(noise)
    model = nn.Linear(2, 1)
    opt = torch.optim.SGD(model.parameters(), lr=float(rate), fused=True)
    losses = []
    for epoch in range(int(epochs)):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        total = 0.0
        for a, b in DataLoader(Subset(TensorDataset(x, y), order.tolist()), batch_size=int(size)):
            loss = F.mse_loss(model(a), b)
            loss.backward()
            opt.step()
            opt.zero_grad()
            total += loss.item() * len(a)
        losses.append(total / len(x))
    return {"losses": torch.tensor(losses, dtype=torch.float64), "plane": torch.cat([model.weight.view(-1), model.bias])}
