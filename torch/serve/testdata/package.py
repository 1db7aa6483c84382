"""Compiles two small networks with AOTInductor, and computes what one of them returns: package.py FOLDER"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch._inductor import aoti_compile_and_package, aoti_load_package


class Rows(torch.nn.Module):
    def forward(self, x, y):
        z = x * 2 + y
        return {"sum": z, "sign": z.sum(1) > 0}


class Total(torch.nn.Module):
    """Its output has the columns of its input."""

    def forward(self, x):
        return x.sum(0)


def main(folder):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows, columns = torch.export.Dim("rows"), torch.export.Dim("columns", max=100)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    path = os.path.join(folder, "rows.pt2")
    aoti_compile_and_package(torch.export.export(Rows(), (x, y), dynamic_shapes=({0: rows}, {0: rows})), package_path=path)
    save_file({"x": x, "y": y} | aoti_load_package(path)(x, y), os.path.join(folder, "run.safetensors"))
    total = torch.export.export(Total(), (torch.randn(4, 5),), dynamic_shapes=({0: rows, 1: columns},))
    aoti_compile_and_package(total, package_path=os.path.join(folder, "total.pt2"))


main(sys.argv[1])
