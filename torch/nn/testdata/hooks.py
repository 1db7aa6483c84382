"""Backward hooks: what they see, and what their results do."""

import torch
from torch import nn


def main(inputs):
    results = {}

    def note(name):
        def hook(_, grad_input, grad_output):
            for kind, grads in (("in", grad_input), ("out", grad_output)):
                for i, g in enumerate(grads):
                    results[f"{name} {kind} {i}"] = torch.tensor([]) if g is None else g.clone()

        return hook

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 3)), nn.Linear(3, 2))
    net[0].register_full_backward_hook(note("first"))
    net[1].register_full_backward_hook(lambda m, i, o: (i[0] * 2,))
    net[1].register_full_backward_hook(note("doubled"))
    net[2].register_full_backward_pre_hook(lambda m, o: (o[0] + 1,))
    net[2].register_full_backward_hook(note("last"))
    pair = nn.Bilinear(2, 3, 2)
    pair.register_full_backward_hook(note("pair"))
    pair.register_full_backward_hook(lambda m, i, o: (i[0] + 1, i[1] * 3))
    for round, needs in enumerate([False, True]):
        x = inputs["x"].clone().requires_grad_(needs)
        other = inputs["other"].clone().requires_grad_()
        (pair(net(x), other) ** 2).sum().backward()
        if needs:
            results["x"] = x.grad
        results[f"other {round}"] = other.grad
        results |= {f"seen {round} {k}": v for k, v in list(results.items()) if k.split()[0] in ("first", "doubled", "last", "pair")}
    results |= {f"grad {k}": p.grad for k, p in net.named_parameters()}

    cell = nn.LSTMCell(3, 2)
    cell.register_full_backward_hook(lambda m, i, o: note("cell")(m, (i[0],), o))
    x = inputs["other"].clone().requires_grad_()
    h, _ = cell(x)  # the gradient of the cell state does not arrive
    h.sum().backward()
    results["cell x"] = x.grad
    return results
