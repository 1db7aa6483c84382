"""Exports the networks of torchvision. Functions for live.py:

    names()          of all networks, classifiers first: [kind, name]
    write(DIR, NAME) exports a network as programs, NAME.KIND.pt2, and NAME.KIND.pt, what each says of its inputs; yields {"name": NAME.KIND}, or
                     {"why": text} of what Python does not export
    check(FROM, TO)  as in programs.py

A network is exported of one image, of three, and for any number.
"""

import gc
import os

import torch
from torch.export import Dim, export
from torchvision import models

import programs
from cases import values

KINDS = {"": models, "segmentation": models.segmentation, "video": models.video, "detection": models.detection,
         "optical_flow": models.optical_flow, "quantization": models.quantization}
SIZES = {"maxvit_t": 224, "inception_v3": 96, "vit_h_14": 56, "quantized_inception_v3": 96, "raft_large": 128, "raft_small": 128, "s3d": 224}


def names():
    for kind, module in KINDS.items():
        for name in models.list_models(module=module):
            yield [kind, name]


def network(name):
    weights = {} if "raft" in name else {"weights": None}
    if any(name in models.list_models(module=KINDS[kind]) for kind in ("segmentation", "detection")):
        weights["weights_backbone"] = None
    if name.startswith("vit"):  # knows the size of its images
        weights["image_size"] = size(name)
    model = models.get_model(name, **weights).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.min() == p.max():  # zeros of a last layer, for one, of which nothing would be seen
                p.uniform_(0.5, 1)
    return model


def size(name):
    return SIZES.get(name, 64)


def inputs(name, n):
    image = (size(name), size(name))
    if name.startswith("mvit"):  # knows it too
        return (values(n, 3, 16, 224, 224),)
    if name in models.list_models(module=models.video):
        return (values(n, 3, 16, *image),)
    if name in models.list_models(module=models.detection):
        return ([values(3, *image) for _ in range(n)],)
    return (values(n, 3, *image),) * (2 if "raft" in name else 1)


def write(directory, name):
    torch.manual_seed(0)
    model = network(name)
    one, three, batch = inputs(name, 1), inputs(name, 3), Dim("batch", min=1, max=64)
    variants = [("one", one, [one], None), ("three", three, [three], None)]
    if isinstance(three[0], torch.Tensor):  # and no list of so many images
        variants.append(("any", three, [one, three], ({0: batch},) * len(three)))
    for kind, example, calls, shapes in variants:
        path = os.path.join(directory, f"{name}.{kind}")
        try:
            program = export(model, example, dynamic_shapes=shapes)
            torch.export.save(program, path + ".pt2")
        except Exception as e:
            yield {"why": f"{kind}: {type(e).__name__}: " + str(e).strip().split("\n")[0][:200]}
            continue
        results = programs.run(program.module(), [(args, {}) for args in calls])
        for result in results:
            for out in torch.utils._pytree.tree_leaves(result[2:]):
                assert out.isfinite().all() and out.std() > 0, (name, kind, "its results would say nothing")
        torch.save(results, path + ".pt")
        del program, results
        gc.collect()  # what refers to itself, with gigabytes of weights
        yield {"name": f"{name}.{kind}"}


def check(source, target):
    for name in programs.check(source, target):
        gc.collect()
        yield name
