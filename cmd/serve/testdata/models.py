"""Writes a folder of models."""
import json
import os
import sys

import torch


class Sum(torch.nn.Module):
    def __init__(self, k=1):
        super().__init__()
        self.k = k

    def forward(self, x, y):
        return x + self.k * y


class Picture(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3 * 16 * 16, 4)

    def forward(self, input):
        return self.linear(input.flatten(1))


def save(path, model, *args, config=None):
    rows = torch.export.Dim("rows", min=1, max=64)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.export.save(torch.export.export(model.eval(), args, dynamic_shapes=tuple({0: rows} for _ in args)), path)
    if config:
        with open(os.path.join(sys.argv[1], config.pop("name")), "w") as f:
            json.dump(config, f)


to = sys.argv[1]
torch.manual_seed(0)
pair = torch.ones(2, 3), torch.ones(2, 3)
save(f"{to}/sum/1/model.pt2", Sum(), *pair, config={"name": "sum/config.json", "max_batch": 16, "max_delay": "1ms"})
save(f"{to}/.next/model.pt2", Sum(2), *pair)
save(f"{to}/picture/model.pt2", Picture(), torch.ones(2, 3, 16, 16),
     config={"name": "picture/config.json", "image": {"size": 16}, "labels": ["a", "b", "c", "d"], "max_batch": 8})
