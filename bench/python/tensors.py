"""Reading safetensors files, and a digest that bench/digest.go computes too."""

import hashlib
import json

import torch

DTYPES = {
    "F32": torch.float32,
    "I64": torch.int64,
}


def content(t):
    """The elements of t as bytes, in row-major order."""
    return t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def read(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = bytearray(f.read())
    header.pop("__metadata__", None)
    tensors = {}
    for name, info in header.items():
        flat = torch.frombuffer(data[slice(*info["data_offsets"])], dtype=DTYPES[info["dtype"]])
        tensors[name] = flat.reshape(info["shape"])
    return tensors


def digest(tensors):
    """SHA-256 over the shape and the elements of each tensor."""
    h = hashlib.sha256()
    for t in tensors:
        h.update(str(list(t.shape)).encode())
        h.update(content(t))
    return h.hexdigest()
