"""Every function of spatial_test.go."""

import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(__file__))
import compare
from compare import pair

FUNCTIONS = {
    "max_pool1d indices": lambda i: pair(*F.max_pool1d(i["signal"], 3, stride=1, padding=1, return_indices=True)),
    "max_pool1d indices ceil": lambda i: pair(*F.max_pool1d_with_indices(i["signal"], 2, ceil_mode=True, dilation=2)),
    "adaptive_max_pool1d": lambda i: F.adaptive_max_pool1d(i["signal"], 2),
    "adaptive_max_pool1d indices": lambda i: pair(*F.adaptive_max_pool1d(i["signal"], 3, return_indices=True)),
    "lp_pool1d": lambda i: F.lp_pool1d(i["signal"], 3.0, 2),
    "lp_pool1d strided": lambda i: F.lp_pool1d(i["signal"].abs(), 1.5, 3, stride=1, ceil_mode=True),
    "max_unpool1d": lambda i: F.max_unpool1d(*F.max_pool1d(i["signal"].narrow(2, 0, 10), 2, return_indices=True), 2),
    "max_unpool1d size": lambda i: F.max_unpool1d(*F.max_pool1d(i["signal"], 2, stride=3, return_indices=True), 2, stride=3, output_size=i["signal"].shape),
    "max_unpool1d padded": lambda i: F.max_unpool1d(*F.max_pool1d(i["signal"], 3, stride=2, padding=1, return_indices=True), 3, stride=2, padding=1),
    "max_pool2d indices": lambda i: pair(*F.max_pool2d(i["image"], 3, stride=1, padding=1, return_indices=True)),
    "max_pool2d indices ceil": lambda i: pair(*F.max_pool2d_with_indices(i["image"], 2, ceil_mode=True, dilation=2)),
    "adaptive_max_pool2d": lambda i: F.adaptive_max_pool2d(i["image"], 2),
    "adaptive_max_pool2d indices": lambda i: pair(*F.adaptive_max_pool2d(i["image"], 3, return_indices=True)),
    "lp_pool2d": lambda i: F.lp_pool2d(i["image"], 3.0, 2),
    "lp_pool2d strided": lambda i: F.lp_pool2d(i["image"].abs(), 1.5, 3, stride=1, ceil_mode=True),
    "max_unpool2d": lambda i: F.max_unpool2d(*F.max_pool2d(i["image"].narrow(2, 0, 8).narrow(3, 0, 6), 2, return_indices=True), 2),
    "max_unpool2d size": lambda i: F.max_unpool2d(*F.max_pool2d(i["image"], 2, stride=3, return_indices=True), 2, stride=3, output_size=i["image"].shape),
    "max_unpool2d padded": lambda i: F.max_unpool2d(*F.max_pool2d(i["image"], 3, stride=2, padding=1, return_indices=True), 3, stride=2, padding=1),
    "max_pool3d indices": lambda i: pair(*F.max_pool3d(i["volume"], 3, stride=1, padding=1, return_indices=True)),
    "max_pool3d indices ceil": lambda i: pair(*F.max_pool3d_with_indices(i["volume"], 2, ceil_mode=True, dilation=2)),
    "adaptive_max_pool3d": lambda i: F.adaptive_max_pool3d(i["volume"], 2),
    "adaptive_max_pool3d indices": lambda i: pair(*F.adaptive_max_pool3d(i["volume"], 3, return_indices=True)),
    "lp_pool3d": lambda i: F.lp_pool3d(i["volume"], 3.0, 2),
    "lp_pool3d strided": lambda i: F.lp_pool3d(i["volume"].abs(), 1.5, 3, stride=1, ceil_mode=True),
    "max_unpool3d": lambda i: F.max_unpool3d(*F.max_pool3d(i["volume"].narrow(3, 0, 4), 2, return_indices=True), 2),
    "max_unpool3d padded": lambda i: F.max_unpool3d(*F.max_pool3d(i["volume"].narrow(2, 0, 3).narrow(4, 0, 5), 3, stride=2, padding=1, return_indices=True), 3, stride=2, padding=1),
    "max_unpool3d size": lambda i: F.max_unpool3d(*F.max_pool3d(i["volume"], 2, return_indices=True), 2, output_size=[4, 5, 6]),
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
    "pad reflect signal": lambda i: F.pad(i["signal"], (2, 1), mode="reflect"),
    "pad reflect image": lambda i: F.pad(i["image"], (1, 2, 0, 1), mode="reflect"),
    "pad reflect volume": lambda i: F.pad(i["volume"], (1, 2, 0, 1, 1, 1), mode="reflect"),
    "pad replicate signal": lambda i: F.pad(i["signal"], (2, 1), mode="replicate"),
    "pad replicate image": lambda i: F.pad(i["image"], (1, 2, 0, 1), mode="replicate"),
    "pad replicate volume": lambda i: F.pad(i["volume"], (1, 2, 0, 1, 1, 1), mode="replicate"),
    "pad circular signal": lambda i: F.pad(i["signal"], (2, 1), mode="circular"),
    "pad circular image": lambda i: F.pad(i["image"], (1, 2, 0, 1), mode="circular"),
    "pad circular volume": lambda i: F.pad(i["volume"], (1, 2, 0, 1, 1, 1), mode="circular"),
    "grid_sample bilinear zeros true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bilinear", padding_mode="zeros", align_corners=True),
    "grid_sample bilinear zeros false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bilinear", padding_mode="zeros", align_corners=False),
    "grid_sample bilinear border true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bilinear", padding_mode="border", align_corners=True),
    "grid_sample bilinear border false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bilinear", padding_mode="border", align_corners=False),
    "grid_sample bilinear reflection true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bilinear", padding_mode="reflection", align_corners=True),
    "grid_sample bilinear reflection false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bilinear", padding_mode="reflection", align_corners=False),
    "grid_sample nearest zeros true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="nearest", padding_mode="zeros", align_corners=True),
    "grid_sample nearest zeros false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="nearest", padding_mode="zeros", align_corners=False),
    "grid_sample nearest border true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="nearest", padding_mode="border", align_corners=True),
    "grid_sample nearest border false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="nearest", padding_mode="border", align_corners=False),
    "grid_sample nearest reflection true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="nearest", padding_mode="reflection", align_corners=True),
    "grid_sample nearest reflection false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="nearest", padding_mode="reflection", align_corners=False),
    "grid_sample bicubic zeros true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bicubic", padding_mode="zeros", align_corners=True),
    "grid_sample bicubic zeros false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bicubic", padding_mode="zeros", align_corners=False),
    "grid_sample bicubic border true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bicubic", padding_mode="border", align_corners=True),
    "grid_sample bicubic border false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bicubic", padding_mode="border", align_corners=False),
    "grid_sample bicubic reflection true": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bicubic", padding_mode="reflection", align_corners=True),
    "grid_sample bicubic reflection false": lambda i: F.grid_sample(i["image"], i["grid2d"], mode="bicubic", padding_mode="reflection", align_corners=False),
    "grid_sample volume": lambda i: F.grid_sample(i["volume"], i["grid3d"]),
}


def resizes():
    """The modes of interpolate with all that can be combined with them."""
    calls = {}

    def add(name, key, **options):
        calls["interpolate " + name] = lambda i: F.interpolate(i[key], **options)

    for n, key, linear in ((1, "signal", "linear"), (2, "image", "bilinear"), (3, "volume", "trilinear")):
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
    return compare.results(FUNCTIONS | resizes(), inputs)
