"""Compiles small networks with AOTInductor, packages them, and computes what they return: packages.py FOLDER"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch._inductor import aot_compile
from torch._inductor.package import load_package, package_aoti


class Net(nn.Module):
    """Sizes that vary together, an argument that is left out, a pair by name, a dictionary of three dtypes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)
        self.register_buffer("scale", torch.tensor([2.0, 3.0, 4.0, 5.0]))

    def forward(self, x, y=None, *, pair):
        z = torch.relu(self.a(x))
        return {"scores": self.b(z) * self.scale + pair[0], "hidden": z.to(torch.bfloat16), "n": pair[1] + 1}


class Image(nn.Module):
    """Fixed sizes with strides of their own; it returns one of its constants as well."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.register_buffer("mean", torch.linspace(0, 1, 64))

    def forward(self, image):
        return self.conv(image).mean((2, 3)), self.mean


def compiled(module, args, kwargs=None, shapes=None):
    program = torch.export.export(module.eval(), args, kwargs, dynamic_shapes=shapes)
    return aot_compile(program.module(), args, kwargs, options={"aot_inductor.package": True})


def main(folder):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    rows = torch.export.Dim("rows", max=64)
    pair = {"pair": (torch.randn(3, 4), torch.arange(3))}
    net = compiled(Net(), (torch.randn(3, 8), None), pair, {"x": {0: rows}, "y": None, "pair": ({0: rows}, {0: rows})})
    square = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    image = compiled(Image(), (square,))
    path = os.path.join(folder, "net.pt2")
    package_aoti(path, {"model": net})
    package_aoti(os.path.join(folder, "two.pt2"), {"net": net, "image": image})

    tensors = {}
    run = load_package(path)
    for n in (1, 2, 5, 64):
        x, p, q = torch.randn(n, 8), torch.randn(n, 4), torch.arange(n) * 3
        out = run(x, None, pair=(p, q))
        tensors |= {f"x{n}": x, f"p{n}": p, f"q{n}": q} | {f"{key}{n}": v for key, v in out.items()}
    run = load_package(os.path.join(folder, "two.pt2"), model_name="image")
    tensors["image"] = square.contiguous()
    tensors["means"], tensors["mean"] = run(square)
    save_file({name: t.contiguous() for name, t in tensors.items()}, os.path.join(folder, "run.safetensors"))


main(sys.argv[1])
