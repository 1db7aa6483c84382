"""torchvision.transforms._presets.ImageClassification for tensors, without torchvision."""

import torch
import torch.nn.functional as F


def preset(img, crop, size, mean, std, mode="bilinear"):
    h, w = img.shape[-2:]
    short, long = min(h, w), max(h, w)
    long = int(size * long / short)
    h, w = (size, long) if h < w else (long, size)
    batch = img.unsqueeze(0) if img.dim() == 3 else img
    x = F.interpolate(batch.float(), size=[h, w], mode=mode, align_corners=False, antialias=True)
    if img.dtype == torch.uint8:
        x = x.clamp(0, 255).round().to(torch.uint8).float() / 255
    top, left = int(round((h - crop) / 2.0)), int(round((w - crop) / 2.0))
    x = x[..., top : top + crop, left : left + crop]
    return (x - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)


def main(inputs):
    results = {}
    for name, img in inputs.items():
        results[name] = preset(img, 224, 256, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        results[name + " bicubic"] = preset(img, 224, 256, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225], "bicubic")
        results[name + " small"] = preset(img, 30, 37, [0.5, 0.5, 0.5], [0.25, 0.5, 1.0])
    return results
