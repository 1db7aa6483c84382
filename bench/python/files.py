"""Files of half a gigabyte, read and written: the twin of bench/files.go."""

import functools
import os

import torch
from safetensors.torch import load_file, save_file

from mlp import pattern
from tensors import digest

TENSORS, ROWS = 125, 1000


class Model(torch.nn.Module):
    def __init__(self, tensors):
        super().__init__()
        for name, t in tensors.items():
            self.register_buffer(name, t)


@functools.cache
def half_gigabyte():
    return {f"weight{i}": pattern(ROWS * ROWS, i + 1, 1021).reshape(ROWS, ROWS) for i in range(TENSORS)}


class Weights:
    def __init__(self, file, once):
        self.folder, self.once = os.path.dirname(file), once
        self.tensors = half_gigabyte()
        self.model = Model(self.tensors)
        if not os.path.exists(self.path("safetensors")):
            save_file(self.tensors, self.path("safetensors"))
        if not os.path.exists(self.path("pt")):
            torch.save(self.tensors, self.path("pt"))

    def path(self, ending):
        return f"{self.folder}/weights.{ending}"

    def look(self, tensors):
        self.seen = [tensors[f"weight{i}"][i].clone() for i in range(TENSORS)]

    def run(self, n):
        for _ in range(n):
            self.once(self)

    def check(self):
        self.run(1)
        return digest(self.seen)


def load_safetensors(w):
    w.model.load_state_dict(load_file(w.path("safetensors")))
    w.look(w.model.state_dict())


def load_pt(w):
    w.look(torch.load(w.path("pt"), weights_only=True))


def save_safetensors(w):
    save_file(w.tensors, f"{w.folder}/theirs.safetensors")
    w.look(w.tensors)


def save_pt(w):
    torch.save(w.tensors, f"{w.folder}/theirs.pt")
    w.look(w.tensors)


CASES = {
    name: (lambda file, once=once: Weights(file, once))
    for name, once in {
        "load safetensors into a model, 500 MB": load_safetensors,
        "load .pt, 500 MB": load_pt,
        "save safetensors, 500 MB": save_safetensors,
        "save .pt, 500 MB": save_pt,
    }.items()
}
