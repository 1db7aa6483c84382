"""What transforms.v2 makes of photos, with the parts and the mirrorings that are given: RandomResizedCrop and so on."""

import torch
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms.v2 import functional as F


def main(inputs, side):
    out = {}
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    for name, data in inputs.items():
        if not name.startswith("file"):
            continue
        top, left, height, width, flip = inputs["part" + name[4:]].tolist()
        img = decode_image(data, mode=ImageReadMode.RGB)
        img = F.resized_crop(img, top, left, height, width, [int(side)] * 2, antialias=True)
        img = F.horizontal_flip(img) if flip else img
        out[name] = F.normalize(F.to_dtype(img, torch.float32, scale=True), mean, std).contiguous()
    images, places = inputs["images"], inputs["places"].tolist()
    crops = []
    for img, (top, left, flip) in zip(images, places):
        img = F.crop(F.pad(img, [4]), top + 4, left + 4, 32, 32)
        crops.append(F.normalize(F.to_dtype(F.horizontal_flip(img) if flip else img, torch.float32, scale=True), mean, std))
    out["crops"] = torch.stack(crops)
    return out
