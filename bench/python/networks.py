"""The networks of the table of programs, with weights by chance and batch norms that have seen images, one input and some samples."""

import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from torchvision.models import resnet

SAMPLES = 4  # to find the ranges of int8


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x, mask):
        own = F.scaled_dot_product_attention(self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x)), mask)
        x = self.norm(self.output(own.transpose(1, 2).reshape(x.shape)) + x)
        return self.last(self.down(F.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    """The sizes of all-MiniLM-L6-v2."""

    def __init__(self, words=30522, width=384, heads=12, layers=6, longest=512):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(words, width), nn.Embedding(longest, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))

    def forward(self, ids, taken):
        x = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1])))
        mask = (1 - taken[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        taken = taken[..., None].to(x.dtype)
        return F.normalize((x * taken).sum(1) / taken.sum(1), dim=1)


def images(size):
    """Waves of several lengths and some noise: neighbours are alike, as in photographs."""

    def make(count):
        at = torch.linspace(0, 1, size)
        waves = torch.zeros(count, 3, size, size)
        for _ in range(6):
            fx, fy, phase, height = (torch.rand(count, 3, 1, 1) for _ in range(4))
            waves += height * torch.sin(2 * math.pi * (8 * fx * at + 8 * fy * at[:, None] + phase))
        return (waves + 0.1 * torch.randn(count, 3, size, size)).split(1)

    return lambda count: [(x,) for x in make(count)]


def texts(length):
    def make(count):
        calls = []
        for i in range(count):
            taken = (torch.arange(length) < length - 8 * i).long()[None]
            calls.append((torch.randint(1, 30522, (1, length)) * taken, taken))
        return calls

    return make


def of_torchvision(name):
    return lambda: getattr(torchvision.models, name)()


NETWORKS = {
    "ResNet-18 at 32": (of_torchvision("resnet18"), images(32)),
    "ResNet-18 at 224": (of_torchvision("resnet18"), images(224)),
    "ResNet-50": (of_torchvision("resnet50"), images(224)),
    "MobileNet v3 large": (of_torchvision("mobilenet_v3_large"), images(224)),
    "ViT-B/16": (of_torchvision("vit_b_16"), images(224)),
    "MiniLM": (Encoder, texts(128)),
}


def settle(network, calls):
    """Lets batch norms measure what they see, as after training; otherwise values would grow from layer to layer. The last one of a residual
    branch weighs little, as training, which often begins with zero there, leaves it: with weights like the others' each block adds as much to what
    rounding does as all before it. Draws last layers that start with zeros, as ViT's does: results would be zeros."""
    for m in network.modules():
        if isinstance(m, nn.Linear) and not m.weight.any():
            nn.init.normal_(m.weight, std=0.02)
    norms = [m for m in network.modules() if isinstance(m, nn.BatchNorm2d)]
    for m in norms:
        m.momentum = 1.0
        nn.init.uniform_(m.weight, 0.5, 1.0)
    for block in network.modules():
        if isinstance(block, resnet.BasicBlock):
            nn.init.uniform_(block.bn2.weight, 0.1, 0.3)
        elif isinstance(block, resnet.Bottleneck):
            nn.init.uniform_(block.bn3.weight, 0.1, 0.3)
    if norms:
        network.train()
        network(torch.cat([x for x, in calls]))
    return network.eval()


def make(name):
    """A network, and calls: the first is measured, the others are samples."""
    torch.manual_seed(0)
    if name not in NETWORKS:
        import others

        NETWORKS.update(others.NETWORKS)
    constructor, inputs = NETWORKS[name]
    with torch.no_grad():
        calls = inputs(1 + SAMPLES)
        return settle(constructor(), calls), calls
