"""What TensorBoard's own reader finds in a Go program's file, and what torch.utils.tensorboard writes for the same calls."""

import glob
import os
import sys

import torch
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils.tensorboard import SummaryWriter


def written(folder, inputs):
    with SummaryWriter(folder) as w:
        for step in range(3):
            w.add_scalar("loss/train", 1.5 / (step + 1), step)
        w.add_text("notes", "**bold** grüße", 4)
        for name in ("grey", "plane", "colour", "alpha", "levels"):
            w.add_image(name, inputs[name], 5, dataformats="HW" if name == "plane" else "CHW")
        for name in ("normal", "small", "zeros", "wide", "whole"):
            w.add_histogram(name, inputs[name], 6)
        w.add_hparams({"lr": 0.1, "batch": 32, "optimizer": "sgd"}, {"accuracy": 0.5, "loss": 2.0}, run_name=".")


def plain(event):
    """An event without its time, as one that can be compared."""
    event.wall_time = 0
    for value in event.summary.value:
        content = value.metadata.plugin_data
        if content.plugin_name == "hparams":
            data = HParamsPluginData.FromString(content.content)
            data.experiment.hparam_infos.sort(key=lambda info: info.name)
            content.content = data.SerializeToString(deterministic=True)
        if value.HasField("image"):  # any PNG of the same pixels is as good
            import io

            import numpy
            from PIL import Image

            pixels = numpy.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)).convert("RGBA"))
            value.image.encoded_image_string = pixels.tobytes()
        if value.HasField("histo"):  # sums of another order
            value.histo.sum = float(f"{value.histo.sum:.9g}")
            value.histo.sum_squares = float(f"{value.histo.sum_squares:.9g}")
    return event


def events(folder):
    all = []
    for file in glob.glob(os.path.join(folder, "events.*")):
        for data in RawEventFileLoader(file).Load():
            event = plain(Event.FromString(data))
            if event.WhichOneof("what") == "summary":
                all.append(event.SerializeToString(deterministic=True))
    return sorted(all)


def main(inputs, ours, theirs):
    written(theirs, inputs)
    got, want = events(ours), events(theirs)
    for g, w in zip(got, want):
        if g != w:
            print(f"Go:\n{Event.FromString(g)}\nPython:\n{Event.FromString(w)}"[:4000], file=sys.stderr)
            break
    return {"ours": len(got), "theirs": len(want), "alike": sum(g == w for g, w in zip(got, want))}
