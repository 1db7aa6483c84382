"""One epoch of resnet18 in Python, on batches that are prepared already: losses, learning rates, weights."""

import contextlib
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../bench/python"))

import resnet  # noqa: E402


def main(inputs, rate, bf16):
    batches = []
    while f"images {len(batches)}" in inputs:
        batches.append([inputs.pop(f"{kind} {len(batches)}") for kind in ("images", "labels")])
    model = resnet.ResNet18(10)
    model.load_state_dict(inputs)
    model.to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=float(rate), momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, float(rate), total_steps=len(batches), cycle_momentum=False)
    mean, std = (torch.tensor(v).view(-1, 1, 1) for v in ([125.3, 123.0, 113.9], [63.0, 62.1, 66.7]))
    total = samples = 0.0
    for images, labels in batches:
        images = (images.to(torch.float32, memory_format=torch.channels_last) - mean) / std
        with torch.autocast("cpu", dtype=torch.bfloat16) if bf16 == "true" else contextlib.nullcontext():
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        opt.step()
        opt.zero_grad()
        schedule.step()
        total += loss.item() * len(labels)
        samples += len(labels)
    return {"loss": loss.detach(), "mean": torch.tensor(total / samples, dtype=torch.float64), **model.state_dict()}
