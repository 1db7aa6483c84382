"""Networks of other kinds than the table's: recurrent layers, signals, volumes, groups of channels, windows, tables."""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from networks import images, of_torchvision


class Recurrent(nn.Module):
    """Two layers over a sequence, as for speech or sensors."""

    def __init__(self, kind, numbers=128, hidden=256, outputs=64):
        super().__init__()
        self.layers, self.last = getattr(nn, kind)(numbers, hidden, 2, batch_first=True), nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.last(self.layers(x)[0])


class Block(nn.Module):
    """A residual block of diffusion models."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.first, self.second = nn.GroupNorm(8, inputs), nn.GroupNorm(8, outputs)
        self.one, self.two = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.around = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        return self.two(F.silu(self.second(self.one(F.silu(self.first(x)))))) + self.around(x)


class UNet(nn.Module):
    def __init__(self, channels=4, width=64):
        super().__init__()
        self.start, self.end = nn.Conv2d(channels, width, 3, padding=1), nn.Conv2d(width, channels, 3, padding=1)
        self.down1, self.down2, self.middle = Block(width, width), Block(2 * width, 2 * width), Block(4 * width, 4 * width)
        self.half1, self.half2 = nn.Conv2d(width, 2 * width, 3, 2, 1), nn.Conv2d(2 * width, 4 * width, 3, 2, 1)
        self.twice = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.up2, self.up1 = Block(4 * width, 2 * width), Block(3 * width, width)

    def forward(self, x):
        one = self.down1(self.start(x))
        two = self.down2(self.half1(one))
        x = self.up2(torch.cat([self.twice(self.middle(self.half2(two))), two], 1))
        return self.end(self.up1(torch.cat([F.interpolate(x, scale_factor=2.0), one], 1)))


class Speech(nn.Module):
    """Convolutions over samples, as recognition begins with, some of them dilated, and samples again."""

    def __init__(self, width=64):
        super().__init__()
        self.start, self.norm = nn.Conv1d(1, width, 10, 5), nn.GroupNorm(width, width)
        self.halves = nn.ModuleList(nn.Conv1d(width, width, 3, 2) for _ in range(3))
        self.wide = nn.ModuleList(nn.Conv1d(width, width, 3, padding=2**i, dilation=2**i) for i in range(4))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(4))
        self.end = nn.ConvTranspose1d(width, 1, 8, 4)

    def forward(self, x):
        x = F.gelu(self.norm(self.start(x)))
        for layer in self.halves:
            x = F.gelu(layer(x))
        for layer, norm in zip(self.wide, self.norms, strict=True):
            x = x + F.leaky_relu(norm(layer(x)), 0.1)
        return torch.tanh(self.end(x))


class RootMeanSquare(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


class DecoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, inner = heads, 8 * width // 3
        self.query, self.key, self.value, self.output = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)
        self.first, self.second = RootMeanSquare(width), RootMeanSquare(width)

    def forward(self, x, cos, sin):
        y = self.first(x)
        q, k, v = (f(y).view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        x = x + self.output(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """A small language model with places that turn, norms of root mean squares and gates."""

    def __init__(self, words=8000, width=512, heads=8, layers=6):
        super().__init__()
        self.words, self.last = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.layers, self.norm = nn.ModuleList(DecoderLayer(width, heads) for _ in range(layers)), RootMeanSquare(width)
        size = width // heads
        self.register_buffer("turns", 10000.0 ** (-torch.arange(0, size, 2) / size))

    def forward(self, ids):
        angles = torch.arange(ids.size(1))[:, None] * self.turns
        angles = torch.cat((angles, angles), -1)
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return self.last(self.norm(x))


class StepLayer(DecoderLayer):
    """The same for one token after others, whose keys and values are given, with two heads of these for all queries."""

    shared = 2

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.key, self.value = (nn.Linear(width, width // heads * self.shared, bias=False) for _ in range(2))

    def forward(self, x, cos, sin, keys, values):
        y = self.first(x)
        q, k, v = (f(y).view(1, 1, n, -1).transpose(1, 2)
                   for f, n in ((self.query, self.heads), (self.key, self.shared), (self.value, self.shared)))
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
        k, v = (t[:, :, None].expand(-1, -1, self.heads // self.shared, -1, -1).reshape(1, self.heads, t.size(2), -1) for t in (keys, values))
        x = x + self.output(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Step(Decoder):
    """One more token of such a model."""

    def __init__(self, width=512, heads=8, layers=6):
        super().__init__(width=width, heads=heads)
        self.layers = nn.ModuleList(StepLayer(width, heads) for _ in range(layers))

    def forward(self, ids, keys, values):
        angles = torch.full((1, 1), float(keys.size(3))) * self.turns
        angles = torch.cat((angles, angles), -1)
        x = self.words(ids)
        for layer, k, v in zip(self.layers, keys, values):
            x = layer(x, angles.cos(), angles.sin(), k, v)
        return self.last(self.norm(x))


class Tables(nn.Module):
    """Categories and numbers, as of customers."""

    def __init__(self, categories=8, rows=1000, width=16, numbers=32):
        super().__init__()
        self.tables, self.norm = nn.ModuleList(nn.Embedding(rows, width) for _ in range(categories)), nn.BatchNorm1d(numbers)
        self.layers = nn.Sequential(nn.Linear(categories * width + numbers, 256), nn.ReLU(), nn.BatchNorm1d(256), nn.Dropout(0.1),
                                    nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, categories, numbers):
        return self.layers(torch.cat([t(categories[:, i]) for i, t in enumerate(self.tables)] + [self.norm(numbers)], 1))


class Segmentation(nn.Module):
    """DeepLab v3 on a ResNet-50, whose last layers see pixels that lie apart: how likely each pixel is of each class."""

    def __init__(self):
        super().__init__()
        self.network = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None)

    def forward(self, x):
        return self.network(x)["out"].softmax(1)


def drawn(*shape):
    return lambda count: [(torch.randn(*shape),) for _ in range(count)]


NETWORKS = {
    "EfficientNet B0": (of_torchvision("efficientnet_b0"), images(224)),
    "RegNet Y 400MF": (of_torchvision("regnet_y_400mf"), images(224)),
    "ResNeXt-50": (of_torchvision("resnext50_32x4d"), images(224)),
    "ConvNeXt tiny": (of_torchvision("convnext_tiny"), images(224)),
    "DenseNet-121": (of_torchvision("densenet121"), images(224)),
    "MaxViT tiny": (of_torchvision("maxvit_t"), images(224)),
    "Swin v2 tiny": (of_torchvision("swin_v2_t"), images(224)),
    "ResNet-18 of videos": (lambda: torchvision.models.video.r3d_18(), drawn(1, 3, 8, 112, 112)),
    "DeepLab v3": (Segmentation, images(224)),
    "U-Net": (UNet, drawn(1, 4, 64, 64)),
    "speech": (Speech, drawn(1, 1, 16000)),
    "LSTM": (lambda: Recurrent("LSTM"), drawn(1, 64, 128)),
    "GRU": (lambda: Recurrent("GRU"), drawn(1, 64, 128)),
    "decoder": (Decoder, lambda count: [(torch.randint(0, 8000, (1, 64)),) for _ in range(count)]),
    "next token": (Step, lambda count: [(torch.randint(0, 8000, (1, 1)), torch.randn(6, 1, 2, 511, 64), torch.randn(6, 1, 2, 511, 64))
                                        for _ in range(count)]),
    "tables": (Tables, lambda count: [(torch.randint(0, 1000, (64, 8)), torch.randn(64, 32)) for _ in range(count)]),
}
