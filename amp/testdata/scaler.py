"""A scripted run of GradScaler: the scale, the tracker and the parameters after each step,
with gradients that are infinite or NaN at some of them."""

import torch

OPTIONS = {"init_scale": 1024.0, "growth_factor": 1.5, "backoff_factor": 0.25, "growth_interval": 3}
STATE = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
CLIP = 2.0


def main(inputs, *modes):
    return {f"{mode}/{k}": v for mode in modes for k, v in run(inputs, mode).items()}


def run(inputs, mode):
    grads = inputs["grads"]  # [steps, 2, 5]
    params = [torch.ones(5, requires_grad=True) for _ in range(2)]
    groups = [[params[0]], [params[1]]] if mode == "two" else [params]
    opts = [torch.optim.SGD(g, 0.1, momentum=0.9, fused=True) for g in groups]
    for opt in opts:
        opt._step_supports_amp_scaling = mode != "plain"
    scaler = torch.amp.GradScaler("cpu", **OPTIONS)
    if "state" in inputs:
        state = dict(zip(STATE, inputs["state"].tolist()))
        scaler.load_state_dict(state | {k: int(state[k]) for k in ("growth_interval", "_growth_tracker")})
    scales, trackers, values = [], [], []
    for step, g in enumerate(grads):
        if step == len(grads) // 2:
            half = scaler.state_dict()
        for part in (0.25, 0.75) if mode == "accumulate" else (1.0,):
            loss = (params[0] * g[0]).sum() + (params[1] * g[1]).sum()
            scaler.scale(loss * part).backward()
        if mode == "clip":
            scaler.unscale_(opts[0])
            torch.nn.utils.clip_grad_norm_(params, CLIP)
        for opt in opts:
            scaler.step(opt)
        scaler.update()
        for opt in opts:
            opt.zero_grad()
        scales.append(scaler.get_scale())
        trackers.append(scaler._get_growth_tracker())
        values.append(torch.stack([p.detach().clone() for p in params]))
    return {
        "scale": torch.tensor(scales, dtype=torch.float64), "tracker": torch.tensor(trackers), "params": torch.stack(values),
        "half": torch.tensor([half[k] for k in STATE], dtype=torch.float64),
    }
