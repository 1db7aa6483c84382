"""Fills a tensor of each shape by each initialiser after a seed of its own."""

import torch
from torch.nn import init

FILL = {
    "uniform": lambda t: init.uniform_(t, -2.5, 0.5),
    "normal": lambda t: init.normal_(t, 0.5, 3.0),
    "trunc_normal": lambda t: init.trunc_normal_(t, 0.1, 0.7, -1.0, 0.5),
    "constant": lambda t: init.constant_(t, 0.3),
    "ones": init.ones_,
    "zeros": init.zeros_,
    "kaiming_uniform": init.kaiming_uniform_,
    "kaiming_uniform a": lambda t: init.kaiming_uniform_(t, a=5**0.5),
    "kaiming_normal": lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"),
    "kaiming_normal tanh": lambda t: init.kaiming_normal_(t, nonlinearity="tanh"),
    "kaiming_normal selu": lambda t: init.kaiming_normal_(t, nonlinearity="selu"),
    "kaiming_normal linear": lambda t: init.kaiming_normal_(t, nonlinearity="linear"),
    "xavier_uniform": init.xavier_uniform_,
    "xavier_normal": lambda t: init.xavier_normal_(t, gain=2.0),
    "orthogonal": lambda t: init.orthogonal_(t, gain=1.5),
    "eye": lambda t: init.eye_(t) if t.dim() == 2 else t.zero_(),
    "kaiming_normal conv3d": lambda t: init.kaiming_normal_(t, nonlinearity="conv3d"),
    "kaiming_uniform leaky": lambda t: init.kaiming_uniform_(t, a=0.2, mode="fan_out"),
    "kaiming_uniform sigmoid": lambda t: init.kaiming_uniform_(t, nonlinearity="sigmoid"),
    "sparse": lambda t: init.sparse_(t, 0.3) if t.dim() == 2 else t.zero_(),
    "sparse wide": lambda t: init.sparse_(t, 0.9, std=2.0) if t.dim() == 2 else t.zero_(),
    "dirac": lambda t: init.dirac_(t, 2) if t.dim() > 2 else t.zero_(),
}
SHAPES = [(4, 7), (9, 3), (6, 2, 5), (4, 3, 3, 2), (2, 8, 1, 3, 2)]


def main(_):
    results = {}
    for name, fill in FILL.items():
        for seed, shape in enumerate(SHAPES):
            torch.manual_seed(seed)
            results[f"{name} {seed}"] = fill(torch.empty(shape))
    torch.manual_seed(0)
    torch.rand(1)
    results["after"] = init.normal_(torch.empty(3), generator=torch.Generator().manual_seed(7))
    results["default"] = torch.rand(1)
    # What torch.nn.init offers, as Go's test lists it.
    names = [name for name in init.__all__ if name.endswith("_") or not hasattr(init, name + "_")]
    results["names"] = torch.tensor(list(" ".join(sorted(names)).encode()), dtype=torch.uint8)
    return results
