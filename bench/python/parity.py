"""The Python half of TestResNet18FiftySteps: every loss and the final state."""

import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import resnet  # noqa: E402


def main(inputs, name, batch, steps):
    case = resnet.Case(name, inputs, int(batch))
    losses = torch.tensor(case.losses(int(steps)), dtype=torch.int32)
    return {"losses": losses, **case.state()}
