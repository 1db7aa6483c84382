"""Gradients through torch.utils.checkpoint: the cases of checkpoint_test.go by name."""
import torch
import torch.utils.checkpoint
from torch.nn.functional import dropout, linear
from torch.utils.checkpoint import checkpoint_sequential

# The decorator around it would import the whole compiler, which takes longer than the test.
checkpoint = torch.utils.checkpoint.checkpoint = torch.utils.checkpoint.checkpoint.__wrapped__


def main(inputs, *cases):
    return {f"{case}/{name}": v for case in cases for name, v in run(inputs, case).items()}


def run(inputs, case):
    x, *weights = [inputs[name].clone().requires_grad_() for name in ("x", "w0", "w1", "w2", "w3")]

    def block(*which):
        def forward(h):
            for i in which:
                h = dropout(linear(h, weights[i]).tanh(), 0.25) * h
            return h
        return forward

    def saved(fn, *args):
        return checkpoint(fn, *args, use_reentrant=False)

    def nested(h):
        return block(2)(saved(block(0, 1), h).sigmoid())

    def two(h):
        a = block(0)(h)
        return a, block(1)(a)

    torch.manual_seed(11)
    if case == "plain":
        y = saved(block(0, 1), x)
    elif case == "chain":
        y = saved(block(2, 3), saved(block(0, 1), x))
    elif case == "nested":
        y = saved(nested, x)
    elif case == "two":
        a, b = saved(two, x)
        y = a * b
    elif case == "sequential":
        y = checkpoint_sequential([block(i) for i in range(4)], 2, x, use_reentrant=False)
    elif case == "autocast":
        with torch.autocast("cpu", torch.bfloat16):
            y = saved(block(0, 1), x)
        y = y.float()
    loss = y.square().sum() + torch.rand(())
    loss.backward()
    grads = {f"g{i}": torch.zeros(()) if w.grad is None else w.grad for i, w in enumerate(weights)}
    return {"loss": loss, "gx": x.grad, "after": torch.rand(3), **grads}
