"""numpy's complex transforms of x0, x1, … over the first dimensions, as many as given."""

import numpy
import torch


def real(x):
    return torch.view_as_real(torch.from_numpy(x.copy()))


def main(inputs, *counts):
    results = {}
    for i, count in enumerate(counts):
        x = torch.view_as_complex(inputs[f"x{i}"]).numpy()
        axes = tuple(range(int(count)))
        results[f"fftn{i}"] = real(numpy.fft.fftn(x, axes=axes))
        results[f"ifftn{i}"] = real(numpy.fft.ifftn(x, axes=axes, norm="ortho"))
    return results
