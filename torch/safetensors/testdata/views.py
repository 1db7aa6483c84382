"""The values of views, as a file has them."""

import torch


def main(inputs):
    x, c = inputs["x"], inputs["c"]
    return {
        "conj": c.conj().resolve_conj(),
        "neg": c.conj().imag.resolve_neg(),
        "turned": x.t(),
        "expanded": x[:1].expand(4, 3),
        "strided": x[:, ::2],
        "offset": x[1:],
        "number": x[1, 2],
        "empty": x[:0],
        "zero": torch.zeros(3),
        "large": x[0, :1].expand(3, 1 << 19).contiguous(),
        "large conj": c[0].conj().expand(1 << 18, 3).resolve_conj(),
    }
