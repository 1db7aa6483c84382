"""A tree of modules whose parameters are drawn by apply."""

import torch
from torch import nn


class Middle(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.left, self.right = nn.Linear(3, 1), nn.Linear(1, 3)
        self.list = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Sequential(nn.Linear(2, 1), shared))


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        shared = nn.Linear(2, 2)
        self.first, self.middle = nn.Linear(2, 3), Middle(shared)
        self.shared, self.again = shared, shared
        self.norm, self.last = nn.BatchNorm1d(3), nn.Linear(3, 2)


def main(inputs):
    net, visits = Tree(), 0

    def draw(m):
        nonlocal visits
        visits += 1
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight)
            nn.init.uniform_(m.bias)
        elif isinstance(m, nn.BatchNorm1d):
            nn.init.normal_(m.weight)
        elif isinstance(m, Tree):
            nn.init.normal_(m.last.bias)

    torch.manual_seed(7)
    net.apply(draw)
    return {"visits": visits, **net.state_dict()}
