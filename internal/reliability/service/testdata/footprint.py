"""The memory of a process that runs ResNet-50: footprint.py MODELS inference|training.

MODELS is the folder with resnet.py. footprint_test.go is its twin.
"""

import json
import re
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, sys.argv[1])
import resnet

ROUNDS, BATCH, SIDE = 3, 8, 128


def memory(name):
    with open("/proc/self/status") as f:
        return int(re.search(name + r":\s+(\d+) kB", f.read())[1]) * 1024


def inference(model, x):
    model.eval()

    def step():
        with torch.inference_mode():
            model(x)

    return step


def training(model, x):
    opt = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)
    labels = torch.randint(0, 1000, (BATCH,))

    def step():
        F.cross_entropy(model(x), labels).backward()
        opt.step()
        opt.zero_grad()

    return step


torch.set_num_threads(1)
torch.ones(2) + torch.ones(2)
idle = memory("VmRSS")
model = resnet.make("resnet50", 1000, "imagenet")
step = {"inference": inference, "training": training}[sys.argv[2]](model, torch.randn(BATCH, 3, SIDE, SIDE))
for _ in range(ROUNDS):
    step()
print(json.dumps({"Idle": idle, "Peak": memory("VmHWM")}))
