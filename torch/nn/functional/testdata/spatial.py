"""Every function of spatial_test.go."""

import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(__file__))
import compare
from compare import pair

FUNCTIONS = {
    "adaptive_avg_pool2d unchanged": lambda i: F.adaptive_avg_pool2d(i["image"], (None, 2)),
    "adaptive_avg_pool3d unchanged": lambda i: F.adaptive_avg_pool3d(i["volume"], (2, None, None)),
    "adaptive_max_pool2d unchanged": lambda i: F.adaptive_max_pool2d(i["image"], (2, None)),
    "fractional_max_pool2d": lambda i: F.fractional_max_pool2d(i["image"], 2, output_size=(5, 4)),
    "fractional_max_pool2d ratio": lambda i: pair(*F.fractional_max_pool2d(i["image"][0], (2, 1), output_ratio=(0.7, 0.5), return_indices=True)),
    "fractional_max_pool2d samples": lambda i: F.fractional_max_pool2d(i["image"], 3, output_ratio=(0.5, 0.5), _random_samples=i["const_draws"]),
    "fractional_max_pool3d": lambda i: F.fractional_max_pool3d(i["volume"], 2, output_size=2),
    "fractional_max_pool3d ratio": lambda i: pair(*F.fractional_max_pool3d(i["volume"], 2, output_ratio=0.6, return_indices=True)),
    "pad": lambda i: F.pad(i["image"], (1, 2, -1, 0), value=0.5),
    "pad zeros": lambda i: F.pad(i["signal"], (1, 2)),
    "pixel_shuffle": lambda i: F.pixel_shuffle(i["image"], 2),
    "pixel_unshuffle": lambda i: F.pixel_unshuffle(i["image"].narrow(2, 0, 6).narrow(3, 0, 6), 3),
    "channel_shuffle": lambda i: F.channel_shuffle(i["image"], 2),
    "unfold": lambda i: F.unfold(i["image"], 3),
    "unfold options": lambda i: F.unfold(i["image"], (2, 3), dilation=2, padding=(1, 0), stride=2),
    "fold": lambda i: F.fold(F.unfold(i["image"], 2), (9, 7), 2),
    "fold options": lambda i: F.fold(F.unfold(i["image"], 2, padding=1, stride=3), (9, 7), 2, padding=1, stride=3),
    "affine_grid": lambda i: F.affine_grid(i["theta2d"], [2, 3, 4, 5]),
    "affine_grid corners": lambda i: F.affine_grid(i["theta3d"], [2, 3, 4, 5, 3], align_corners=True),
    "upsample": lambda i: F.upsample(i["image"], scale_factor=2, mode="bicubic"),
    "upsample_nearest": lambda i: F.upsample_nearest(i["volume"], 7),
    "upsample_bilinear": lambda i: F.upsample_bilinear(i["image"], scale_factor=1.7),
    "grid_sample volume": lambda i: F.grid_sample(i["volume"], i["grid3d"]),
}

KEYS = {1: "signal", 2: "image", 3: "volume"}


def pools():
    """The poolings of each number of dimensions."""
    calls = {}
    for n, key in KEYS.items():
        calls |= poolings(n, key, *(getattr(F, f"{name}{n}d") for name in ("max_pool", "adaptive_max_pool", "lp_pool", "max_unpool")))
    return calls


def poolings(n, key, pool, adaptive, lp, reverse):
    def unpool(x, size, output_size=None, **options):
        return reverse(*pool(x, size, return_indices=True, **options), size, output_size=output_size, **options)

    def even(x):  # windows of 2 cover it
        for d in range(-n, 0):
            x = x.narrow(d, 0, x.size(d) // 2 * 2)
        return x

    def odd(x):  # windows of 3 in steps of 2, with a border, cover it
        for d in range(-n, 0):
            x = x.narrow(d, 0, (x.size(d) - 1) // 2 * 2 + 1)
        return x

    return {
        f"max_pool{n}d indices": lambda i: pair(*pool(i[key], 3, stride=1, padding=1, return_indices=True)),
        f"max_pool{n}d indices ceil": lambda i: pair(*pool(i[key], 2, ceil_mode=True, dilation=2, return_indices=True)),
        f"adaptive_max_pool{n}d": lambda i: adaptive(i[key], 2),
        f"adaptive_max_pool{n}d indices": lambda i: pair(*adaptive(i[key], 3, return_indices=True)),
        f"lp_pool{n}d": lambda i: lp(i[key], 3.0, 2),
        f"lp_pool{n}d strided": lambda i: lp(i[key].abs(), 1.5, 3, stride=1, ceil_mode=True),
        f"max_unpool{n}d": lambda i: unpool(even(i[key]), 2),
        f"max_unpool{n}d size": lambda i: unpool(i[key], 2, i[key].shape, stride=3),
        f"max_unpool{n}d last sizes": lambda i: unpool(i[key], 2, i[key].shape[2:]),
        f"max_unpool{n}d padded": lambda i: unpool(odd(i[key]), 3, stride=2, padding=1),
    }


def pads():
    """The modes of pad that take elements from the input."""
    return {
        f"pad {mode} {key}": lambda i, key=key, mode=mode, pad=(2, 1, 0, 1, 1, 1)[: 2 * n]: F.pad(i[key], pad, mode=mode)
        for mode in ("reflect", "replicate", "circular")
        for n, key in KEYS.items()
    }


def grids():
    """The modes of grid_sample with all that can be combined with them."""
    return {
        f"grid_sample {mode} {padding} {corners}".lower(): lambda i, o={"mode": mode, "padding_mode": padding, "align_corners": corners}: F.grid_sample(i["image"], i["grid2d"], **o)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (True, False)
    }


def resizes():
    """The modes of interpolate with all that can be combined with them."""
    calls = {}

    def add(name, key, **options):
        calls["interpolate " + name] = lambda i: F.interpolate(i[key], **options)

    for n, key in KEYS.items():
        linear = ("linear", "bilinear", "trilinear")[n - 1]
        for mode in ("nearest", "nearest-exact", "area", linear) + (("bicubic",) if n == 2 else ()):
            for corners in (None, False, True) if mode in (linear, "bicubic") else (None,):
                text = f"{mode} {n}d" + ("" if corners is None else f" {corners}".lower())
                options = {"mode": mode, "align_corners": corners}
                add(text + " size", key, size=6, **options)
                add(text + " factor", key, scale_factor=1.7, **options)
                add(text + " recomputed", key, scale_factor=0.7, recompute_scale_factor=True, **options)
    for mode in ("bilinear", "bicubic"):
        add(mode + " smooth", "image", size=(4, 3), mode=mode, antialias=True)
        add(mode + " smooth corners", "image", scale_factor=(0.5, 1.5), mode=mode, antialias=True, align_corners=True)
    return calls


def main(inputs):
    return compare.results(FUNCTIONS | pools() | pads() | grids() | resizes(), inputs)
