"""Scales, clips and steps with gradients of every layout; see layouts_test.go, which does the same in Go."""

import torch


def main(inputs):
    results = {}
    for name, grad in gradients(inputs["g"]).items():
        for kind in ("SGD", "Adam"):
            p = inputs["p"].clone().requires_grad_()
            p.grad = grad.clone() if name == "sparse" else grad
            scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
            try:
                scaler.scale(torch.zeros(1))
                opt = getattr(torch.optim, kind)([p], lr=0.1, foreach=False)
                if kind == "Adam" and name != "sparse":
                    scaler.unscale_(opt)
                    torch.nn.utils.clip_grad_norm_([p], 0.3)
                    torch.nn.utils.clip_grad_value_([p], 0.05)
                scaler.step(opt)
                results[f"{name} {kind} p"] = p
                results[f"{name} {kind} g"] = p.grad.to_dense() if name == "sparse" else p.grad.clone()
            except Exception:  # noqa: BLE001
                results[f"{name} {kind} error"] = torch.tensor(1)
    return results


def gradients(g):
    return {
        "transposed": g.clone().t().contiguous().t(),
        "narrow": torch.cat([g, g], 1).narrow(1, 0, 4),
        "overlapping": g.reshape(-1).clone().as_strided([4, 4], [1, 1]),
        "expanded": g.clone().narrow(0, 0, 1).expand(4, 4),
        "sparse": g.abs().clamp_min(0.5).sub(0.5).to_sparse(),
    }
