"""Does with torchvision what a list of steps says: cases.json holds, for each case, names of functions of transforms.v2.functional and their
arguments; the tensors are in inputs, by the number of the case."""

import json

import torch
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

PLACES = ("image", "boxes", "masks", "labels")


def call(name, args, sample):
    """One step on everything that it concerns."""
    args = dict(args)
    for key in ("interpolation",):
        if key in args:
            args[key] = v2.InterpolationMode(args[key])
    if "dtype" in args:
        args["dtype"] = getattr(torch, args["dtype"].lower())
    if args.get("max_size") == 0:
        args["max_size"] = None
    if name == "mix_up" or name == "cut_mix":
        t = v2.MixUp(num_classes=args["num_classes"]) if name == "mix_up" else v2.CutMix(num_classes=args["num_classes"])
        params = {**args, "labels": sample["labels"], "batch_size": len(sample["labels"])}
        return {key: t.transform(sample[key], params) for key in ("image", "labels")}
    if name == "sanitize_bounding_boxes":
        return v2.SanitizeBoundingBoxes(**args, labels_getter=None)(sample)
    if name == "empty_boxes":
        sample["boxes"][~args["keep"]] = 0
        return sample
    if name == "aug_mix":
        image = sample["image"]
        mix = torch.tensor(args["original"]) * image
        for weight, chain in zip(args["weights"], args["chains"]):
            one = {"image": image}
            for step in chain:
                one = call(step["name"], step["args"], one)
            mix.add_(torch.tensor(weight) * one["image"])
        return {**sample, "image": mix.to(image.dtype)}
    if name == "gaussian_noise":
        noise = args.pop("noise")
        torch.randn_like = lambda x, dtype=None: noise.to(dtype or x.dtype)
    out = dict(sample)
    for key, x in sample.items():
        of_boxes = name in ("clamp_bounding_boxes", "convert_bounding_box_format")
        if key == "labels" or of_boxes != (key == "boxes") and (of_boxes or not hasattr_kernel(name, x)):
            continue
        mine = dict(args)
        if name == "pad" and isinstance(mine.get("fill"), list):
            mine["fill"] = mine["fill"][0] if len(mine["fill"]) == 1 else 0 if key == "masks" else mine["fill"]
        if name == "convert_bounding_box_format":
            mine = {"new_format": args["format"]}
        out[key] = getattr(F, name)(x, **mine)
    return out


def hasattr_kernel(name, x):
    """Whether a function does anything to a kind of tensor."""
    from torchvision.transforms.v2.functional._utils import _KERNEL_REGISTRY

    return name != "normalize" and name != "to_dtype" and type(x) in _KERNEL_REGISTRY[getattr(F, name)] or type(x) is tv_tensors.Image


def main(inputs, path):
    out = {}
    for i, case in enumerate(json.load(open(path))):
        sample = {}
        image = inputs[f"{i}.image"]
        for key in PLACES:
            x = inputs.get(f"{i}.{key}")
            if x is None:
                continue
            if key == "image":
                x = tv_tensors.Image(x)
            elif key == "masks":
                x = tv_tensors.Mask(x)
            elif key == "boxes":
                x = tv_tensors.BoundingBoxes(x, format=case["format"], canvas_size=image.shape[-2:])
            sample[key] = x
        for j, step in enumerate(case["steps"]):
            args = dict(step["args"])
            for key in ("v", "displacement", "noise", "keep"):
                if f"{i}.{j}.{key}" in inputs:
                    args[key] = inputs[f"{i}.{j}.{key}"]
            sample = call({"jpeg_file": "jpeg"}.get(step["name"], step["name"]), args, sample)
        for key, x in sample.items():
            out[f"{i}.{key}"] = x.as_subclass(torch.Tensor).contiguous()
    return out
