"""A hundred training steps in mixed precision, with dropout and inputs drawn as it goes: the losses, and all that a
checkpoint holds after fifty steps and at the end."""

import json

import torch
from torch import nn

STEPS = 100


def main(inputs, mode, *cases):
    out = {}
    for case in cases:
        own = {k.removeprefix(case + "/"): v for k, v in inputs.items() if k.startswith(case + "/")} or inputs
        t = Trainer(json.loads(case), own)
        if mode == "straight":
            t.run(STEPS // 2)
            out |= {f"{case}/half/{k}": v.clone() for k, v in t.state().items()}
        t.run(STEPS // 2)
        out |= {f"{case}/end/{k}": v for k, v in t.state().items()}
        out[f"{case}/losses"] = torch.tensor(t.losses)
    return out


class Trainer:
    def __init__(self, case, start):
        self.dtype = getattr(torch, case["dtype"])
        self.model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 5))
        self.opt = getattr(torch.optim, case["kind"])(self.model.parameters(), **case["options"])
        self.scaler = torch.amp.GradScaler("cpu", growth_interval=8, enabled=self.dtype == torch.float16)
        self.losses = []
        self.load(start)

    def load(self, start):
        self.model.load_state_dict({k.removeprefix("model."): v for k, v in start.items() if k.startswith("model.")})
        own = self.opt.state_dict()
        for k, v in start.items():
            if k.startswith("optimizer."):
                _, i, name = k.split(".")
                own["state"].setdefault(int(i), {})[name] = v
        self.opt.load_state_dict(own)
        if "scale" in start:
            self.scaler.load_state_dict(self.scaler.state_dict() | {"scale": start["scale"].item(), "_growth_tracker": start["tracker"].item()})
        torch.set_rng_state(start["rng"])

    def state(self):
        state = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        for i, slots in self.opt.state_dict()["state"].items():
            state |= {f"optimizer.{i}.{k}": v for k, v in slots.items()}
        if self.scaler.is_enabled():
            state["scale"] = torch.tensor(self.scaler.get_scale())
            state["tracker"] = torch.tensor(self.scaler._get_growth_tracker())
        return state | {"rng": torch.get_rng_state()}

    def run(self, steps):
        for _ in range(steps):
            x, y = torch.randn(16, 12), torch.randint(0, 5, (16,))
            with torch.autocast("cpu", dtype=self.dtype):
                loss = nn.functional.cross_entropy(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)
            self.scaler.update()
            self.opt.zero_grad()
            self.losses.append(loss.item())
