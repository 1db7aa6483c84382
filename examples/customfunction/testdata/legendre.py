"""PyTorch's tutorial "Defining new autograd functions": the loss of each hundredth step, and the result."""

import math

import torch


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 1.5 * (5 * x**2 - 1)


def main(inputs, steps, rate):
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    a, b, c, d = (torch.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
    opt = torch.optim.SGD([a, b, c, d], lr=float(rate), fused=True)
    losses = []
    for step in range(int(steps)):
        predicted = a + b * LegendrePolynomial3.apply(c + d * x)
        loss = (predicted - y).pow(2).sum()
        if step % 100 == 99:
            losses.append(loss.item())
        loss.backward()
        opt.step()
        opt.zero_grad()
    return {"losses": torch.tensor(losses, dtype=torch.float64), "result": torch.stack([a, b, c, d])}
