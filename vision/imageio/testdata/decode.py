"""What torchvision's decoder makes of each JPEG of a folder whose number, in the order of their paths, is between two others."""

import pathlib

import torch
from torchvision.io import ImageReadMode, decode_jpeg


def main(inputs, folder, first, last):
    files = sorted(pathlib.Path(folder).rglob("*.JPEG"))[int(first) : int(last)]
    data = [torch.frombuffer(bytearray(f.read_bytes()), dtype=torch.uint8) for f in files]
    return {str(f): decode_jpeg(d, mode=ImageReadMode.RGB).contiguous() for f, d in zip(files, data)}
