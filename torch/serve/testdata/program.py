"""Writes a program with nested and named inputs, and what Python computes with it."""
import sys

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 5)

    def forward(self, pair, scale, *, bias=None, offset):
        x = torch.cat([pair[0], pair[1]], 1)
        y = self.linear(x).relu() * scale + offset
        return {"scores": y, "best": y.argmax(1)}


torch.manual_seed(0)
net = Net().eval()
args = ((torch.randn(4, 2), torch.randn(4, 4)), 2.0)
kwargs = {"offset": torch.randn(4, 1), "bias": None}
rows = torch.export.Dim("rows", min=1, max=64)
dynamic = {"pair": ({0: rows}, {0: rows}), "scale": None, "bias": None, "offset": {0: rows}}
program = torch.export.export(net, args, kwargs, dynamic_shapes=dynamic)
torch.export.save(program, sys.argv[1] + "/net.pt2")
out = net(*args, **kwargs)
torch.save([*args[0], kwargs["offset"], out["scores"], out["best"]], sys.argv[1] + "/net.pt")
fixed = torch.export.export(torch.nn.ReLU(), (torch.randn(2, 3),))
torch.export.save(fixed, sys.argv[1] + "/relu.pt2")
