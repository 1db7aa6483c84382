"""ResNets in Python, to compare with: the networks of He et al. 2015 with torchvision's
parameter names, drawn in the order in which torchvision draws them."""

import torch
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, planes, stride, downsample):
        super().__init__()
        self.conv1 = conv(inputs, planes, 3, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = conv(planes, planes, 3)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def last_norm(self):
        return self.bn2

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, planes, stride, downsample):
        super().__init__()
        self.conv1 = conv(inputs, planes, 1)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = conv(planes, planes, 3, stride)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = conv(planes, planes * 4, 1)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.downsample = downsample

    def last_norm(self):
        return self.bn3

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class ResNet(nn.Module):
    def __init__(self, block, depth, classes, stem, zero_init_residual):
        super().__init__()
        self.conv1 = conv(3, 64, 7, 2) if stem == "imagenet" else conv(3, 64, 3)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1) if stem == "imagenet" else nn.Identity()
        self.channels = 64
        self.layer1 = self.layer(block, 64, depth[0], 1)
        self.layer2 = self.layer(block, 128, depth[1], 2)
        self.layer3 = self.layer(block, 256, depth[2], 2)
        self.layer4 = self.layer(block, 512, depth[3], 2)
        self.fc = nn.Linear(512 * block.expansion, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        if zero_init_residual:
            for m in self.modules():
                if isinstance(m, block):
                    nn.init.constant_(m.last_norm().weight, 0)

    def layer(self, block, planes, depth, stride):
        blocks = []
        for n in range(depth):
            outputs, step, downsample = planes * block.expansion, stride if n == 0 else 1, None
            if step != 1 or self.channels != outputs:
                downsample = nn.Sequential(conv(self.channels, outputs, 1, step), nn.BatchNorm2d(outputs))
            blocks.append(block(self.channels, planes, step, downsample))
            self.channels = outputs
        return nn.Sequential(*blocks)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


DEPTHS = {
    "resnet18": (BasicBlock, (2, 2, 2, 2)), "resnet34": (BasicBlock, (3, 4, 6, 3)), "resnet50": (Bottleneck, (3, 4, 6, 3)),
    "resnet101": (Bottleneck, (3, 4, 23, 3)), "resnet152": (Bottleneck, (3, 8, 36, 3)),
}


def make(name, classes, stem, zero_init_residual=False):
    return ResNet(*DEPTHS[name], classes, stem, zero_init_residual)
