"""numpy's inverse real transforms of several dimensions, of the spectra x0, x1, … to lasts' sizes."""

import numpy
import torch


def main(inputs, *norms):
    results = {}
    for i, norm in enumerate(norms):
        x = torch.view_as_complex(inputs[f"x{i}"]).numpy()
        shape, axes = x.shape[:-1] + (int(inputs["lasts"][i]),), tuple(range(x.ndim))
        # numpy has no hfftn: it is irfftn of the conjugate, scaled the other way.
        other = {"backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]
        results[f"irfftn{i}"] = torch.from_numpy(numpy.fft.irfftn(x, shape, axes, norm).copy())
        results[f"hfftn{i}"] = torch.from_numpy(numpy.fft.irfftn(x.conj(), shape, axes, other).copy())
    return results
