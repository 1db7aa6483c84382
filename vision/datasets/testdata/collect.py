"""What torchvision's data sets have in them: all images, targets and classes. Expressions make them of the module D and roots."""

import os
import sys

import torch
from PIL import Image

if "LIBTORCH_GO_SCIPY" in os.environ:  # a folder with scipy, which torchvision wants for files of MATLAB's
    sys.path.append(os.environ["LIBTORCH_GO_SCIPY"])

from torchvision import datasets as D
from torchvision.datasets import utils
from torchvision.transforms.functional import pil_to_tensor

utils.check_md5 = lambda *args, **kwargs: True  # the files of tests are not the published ones


def text(lines):
    lines = [line if isinstance(line, str) else ", ".join(line) for line in lines]
    return torch.tensor(list("\n".join(lines).encode()), dtype=torch.uint8)


def collect(result, prefix, data):
    result[prefix + "len"] = torch.tensor(len(data))
    result[prefix + "classes"] = text(getattr(data, "classes", []))
    if hasattr(data, "samples"):
        result[prefix + "paths"] = text([path for path, _ in data.samples])
    for i in range(len(data)):
        image, target = data[i]
        result[f"{prefix}image {i}"] = pil_to_tensor(image.convert("RGB") if image.mode != "L" else image)
        if isinstance(target, Image.Image):
            target = pil_to_tensor(target)[0]
        if target is not None:
            result[f"{prefix}target {i}"] = torch.as_tensor(target)


def main(inputs, *args):
    result = {}
    for k in range(0, len(args), 2):
        collect(result, f"{k // 2} ", eval(args[k], {"D": D, "root": args[k + 1]}))
    return result
