"""What one of torchvision's data sets has in it: all images, targets and classes. The expression makes it of the module D and a root."""

import torch
from torchvision import datasets as D
from torchvision.transforms.functional import pil_to_tensor


def text(lines):
    return torch.tensor(list("\n".join(lines).encode()), dtype=torch.uint8)


def main(inputs, expression, root):
    data = eval(expression, {"D": D, "root": root})
    result = {"len": torch.tensor(len(data)), "classes": text(getattr(data, "classes", []))}
    if hasattr(data, "samples"):
        result["paths"] = text([path for path, _ in data.samples])
    for i, (image, target) in enumerate(data):
        result[f"image {i}"] = pil_to_tensor(image.convert("RGB") if image.mode != "L" else image)
        if target is not None:
            result[f"target {i}"] = torch.as_tensor(target)
    return result
