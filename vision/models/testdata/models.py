"""Initial values and training steps of the networks, to compare with."""

import hashlib
import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import resnet
import vgg

LARGE = 1 << 22  # elements; of what has more, a hash is compared


def make(name, classes, *options):
    if name.startswith("vgg"):
        return vgg.make(name, classes, *map(float, options))
    stem, zero_init_residual = options
    return resnet.make(name, classes, stem, zero_init_residual == "true")


def comparable(prefix, tensors):
    """The tensors under names that begin so, the large ones as hashes of their bytes."""
    results = {}
    for name, x in tensors:
        if x.numel() > LARGE:
            x = torch.frombuffer(bytearray(hashlib.sha256(x.detach().contiguous().numpy()).digest()), dtype=torch.uint8)
        results[prefix + name] = x.clone()
    return results


def main(inputs, task, *args):
    """Runs the task for each argument, whose results begin with it and a slash."""
    run = {"init": initial, "train": train}[task]
    return {f"{arg}/{key}": value for arg in args for key, value in run(inputs, *arg.split()).items()}


def initial(_, name, *options):
    torch.manual_seed(3)
    return comparable("", make(name, 11, *options).state_dict().items())


def train(inputs, dtype, steps, *model):
    """Steps in training and one forward in evaluation."""
    torch.manual_seed(4)
    name, *options = model
    model = make(name, 10, *options).to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True)
    x, target = inputs["x"].to(memory_format=torch.channels_last), inputs["target"]
    results = {}
    for step in range(int(steps)):
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = F.cross_entropy(model(x), target)
        loss.backward()
        results[f"loss {step}"] = loss
        if step == 0:
            results |= comparable("grad ", ((k, p.grad) for k, p in model.named_parameters()))
        opt.step()
        opt.zero_grad()
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
        results["y"] = model(x)
    return results | comparable("final ", model.state_dict().items())
