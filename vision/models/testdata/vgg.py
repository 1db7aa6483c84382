"""VGG networks in Python, to compare with: those of Simonyan and Zisserman 2014 with
torchvision's parameter names, drawn in the order in which torchvision draws them."""

import torch
from torch import nn


class VGG(nn.Module):
    def __init__(self, depth, norm, classes, dropout):
        super().__init__()
        layers, channels = [], 3
        for stage, convolutions in enumerate(depth):
            for _ in range(convolutions):
                width = min(64 << stage, 512)
                layers.append(nn.Conv2d(channels, width, 3, padding=1))
                if norm:
                    layers.append(nn.BatchNorm2d(width))
                layers.append(nn.ReLU(inplace=True))
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(4096, classes),
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(m.bias)
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


DEPTHS = {"vgg11": (1, 1, 2, 2, 2), "vgg13": (2, 2, 2, 2, 2), "vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}


def make(name, classes, dropout=0.5):
    plain, norm, _ = name.partition("_bn")
    return VGG(DEPTHS[plain], bool(norm), classes, dropout)
