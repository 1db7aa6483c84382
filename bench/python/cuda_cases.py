"""Steps on a card, eager: what graphs on our side are measured against, too."""

import os

import torch
import torch.nn.functional as F
from torch import nn

import resnet
from mlp import pattern
from tensors import digest

DEVICE = torch.device(os.environ.get("BENCH_DEVICE") or "cuda:0")
CLASSES = 10


def shaped(*shape):
    return pattern(torch.Size(shape).numel(), 37, 101).reshape(shape)


def fill(model):
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.copy_(shaped(*p.shape) * 0.05)
        model.fc.bias.zero_()


class Bottleneck(nn.Module):
    def __init__(self, inplanes, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, 4 * planes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inplanes != 4 * planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, 4 * planes, 1, stride, bias=False), nn.BatchNorm2d(4 * planes))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


class ResNet50(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, inplanes = [], 64
        for planes, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            stages.append(nn.Sequential(*(Bottleneck(inplanes if i == 0 else 4 * planes, planes, stride if i == 0 else 1) for i in range(blocks))))
            inplanes = 4 * planes
        self.stages = nn.Sequential(*stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(2048, classes)

    def forward(self, x):
        x = self.stages(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Case:
    def run(self, n):
        for _ in range(n):
            self.step()
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()

    def check(self):
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
            return digest([self.step().cpu()])


class Add(Case):
    def __init__(self):
        self.x, self.y = torch.tensor([1.5]).to(DEVICE), torch.tensor([2.25]).to(DEVICE)

    def step(self):
        return self.x.add(self.y)


class Training(Case):
    def __init__(self):
        model = resnet.ResNet18(CLASSES)
        fill(model)
        self.model = model.to(DEVICE, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True)
        self.dtype = torch.bfloat16 if DEVICE.type == "cpu" else torch.float16
        self.scaler = torch.amp.GradScaler(DEVICE.type)
        self.images = shaped(128, 3, 32, 32).to(DEVICE).to(memory_format=torch.channels_last)
        self.labels = (torch.arange(128) % CLASSES).to(DEVICE)

    def step(self):
        with torch.autocast(DEVICE.type, dtype=self.dtype):
            loss = F.cross_entropy(self.model(self.images), self.labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return loss.detach()


class Inference(Case):
    def __init__(self):
        model = ResNet50(1000)
        fill(model)
        self.model = model.to(DEVICE, torch.float16, memory_format=torch.channels_last).eval()
        self.image = shaped(1, 3, 224, 224).to(DEVICE, torch.float16).to(memory_format=torch.channels_last)

    def step(self):
        with torch.inference_mode():
            return self.model(self.image)


def case(kind):
    def make(file):
        torch.backends.cudnn.benchmark = True
        return kind()

    return make


CASES = {
    "card: add": case(Add),
    "card: ResNet-18 b128 fp16 training": case(Training),
    "card: ResNet-18 b128 fp16 training, graph": case(Training),
    "card: ResNet-50 b1 fp16, graph": case(Inference),
}
