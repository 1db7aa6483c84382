"""torchvision's layers, to compare with."""
from functools import partial

import torch
from torch import nn
from torchvision import ops

LAYERS = {
    "conv": lambda: ops.Conv2dNormActivation(3, 4, 5, 2, dilation=2, activation_layer=nn.SiLU, inplace=None),
    "conv alone": lambda: ops.Conv2dNormActivation(3, 6, padding=2, groups=3, norm_layer=None, activation_layer=None),
    "conv frozen": lambda: ops.Conv2dNormActivation(3, 6, bias=True, norm_layer=partial(ops.FrozenBatchNorm2d, eps=1e-3)),
    "squeeze": lambda: ops.SqueezeExcitation(3, 2),
    "squeeze hard": lambda: ops.SqueezeExcitation(3, 2, partial(nn.SiLU, inplace=True), nn.Hardsigmoid),
    "mlp": lambda: mlp(7, [5, 4, 3], norm_layer=nn.LayerNorm, dropout=0.3),
    "mlp bare": lambda: ops.MLP(7, [3], bias=False),
    "permute": lambda: ops.Permute([0, 2, 3, 1]),
    "depth row": lambda: ops.StochasticDepth(0.4, "row"),
    "depth batch": lambda: ops.StochasticDepth(0.4, "batch"),
    "depth all": lambda: ops.StochasticDepth(1.0, "row"),
}


def mlp(*args, **kwargs):
    """GELU knows no inplace, the dropouts do."""
    m = ops.MLP(*args, activation_layer=nn.GELU, **kwargs)
    for layer in m:
        if isinstance(layer, nn.Dropout):
            layer.inplace = True
    return m


def main(inputs):
    results = {}
    for name, make in LAYERS.items():
        torch.manual_seed(2)
        layer = make()
        results |= {f"{name} state {key}": value.clone() for key, value in layer.state_dict().items()}
        results[name + " text"] = torch.frombuffer(bytearray(str(layer).encode()), dtype=torch.uint8)
        x = inputs["x"].clone().requires_grad_()
        y = layer(x * 1)
        (y * y).sum().backward()
        results |= {name + " y": y, name + " grad": x.grad}
        results[name + " eval"] = layer.eval()(x * 1)
    return results
