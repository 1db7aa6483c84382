"""Training steps of ResNet-18 with the stem for CIFAR's 32x32 images, written out by hand:
the reference that vision/models and torch/optim are held against."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn

import tensors


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes, 1, stride, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self.stage(64, 64, 1)
        self.layer2 = self.stage(64, 128, 2)
        self.layer3 = self.stage(128, 256, 2)
        self.layer4 = self.stage(256, 512, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512, classes)

    @staticmethod
    def stage(inplanes, planes, stride):
        return nn.Sequential(BasicBlock(inplanes, planes, stride), BasicBlock(planes, planes, 1))

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Trainer:
    """A model with the weights of a file, its optimizer, and one training step."""

    def __init__(self, name, weights):
        self.bf16 = name.endswith("bf16")
        classes = weights["fc.weight"].shape[0]
        self.model = ResNet18(classes)
        self.model.load_state_dict(weights)
        self.model.to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True
        )

    def precision(self):
        return torch.autocast("cpu", dtype=torch.bfloat16) if self.bf16 else contextlib.nullcontext()

    def step(self, images, labels):
        with self.precision():
            loss = F.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()


class Case:
    """Steps over images and labels, batch by batch in their order, round and round."""

    def __init__(self, name, inputs, batch):
        self.images = inputs.pop("images").to(memory_format=torch.channels_last)
        self.labels = inputs.pop("labels")
        self.trainer = Trainer(name, inputs)
        self.batch, self.at = batch, 0

    def step(self):
        rows = slice(self.at, self.at + self.batch)
        self.at = (self.at + self.batch) % len(self.labels)
        return self.trainer.step(self.images[rows], self.labels[rows])

    def run(self, n):
        for _ in range(n):
            self.step()

    def losses(self, n):
        """The bits of n float32: printed decimals may hide a difference."""
        return [torch.tensor(self.step()).view(torch.int32).item() for _ in range(n)]

    def state(self):
        return self.trainer.model.state_dict()

    def check(self):
        losses = self.losses(2)
        return " ".join(map(str, losses)) + " " + tensors.digest(self.state().values())


BATCH = 32
NAMES = ("ResNet-18 fp32", "ResNet-18 bf16")
CASES = {name: (lambda file, name=name: Case(name, tensors.read(file), BATCH)) for name in NAMES}
