"""train.py KIND,STEPS,OUT[,FROM]...: trains some steps, from a checkpoint if one is given, and saves a checkpoint."""
import sys

import torch


def train(kind, steps, out, *start):
    steps = int(steps)
    torch.manual_seed(4)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    opts = {"SGD": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, fused=True), "Adam": lambda p: torch.optim.Adam(p, 0.01, fused=True)}
    opt = opts.get(kind, lambda p: torch.optim.AdamW(p, 0.01, fused=True))(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(opt, 10, gamma=0.5)
    amp = kind == "AMP"
    scaler = torch.amp.GradScaler("cpu", growth_interval=8, enabled=amp)
    step = 0
    if start:
        ck = torch.load(start[0], weights_only=True)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["optimizer"])
        schedule.load_state_dict(ck["schedule"])
        scaler.load_state_dict(ck["scaler"])
        torch.set_rng_state(ck["generators"]["cpu"])
        step = ck["progress"]["step"]
    for step in range(step + 1, step + steps + 1):
        opt.zero_grad()
        x = torch.randn(8, 4)
        with torch.autocast("cpu", torch.float16, enabled=amp):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        schedule.step()
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "schedule": schedule.state_dict(), "scaler": scaler.state_dict(),
                "generators": {"cpu": torch.get_rng_state()}, "progress": {"epoch": 0, "batch": 0, "step": step}}, out)


for job in sys.argv[1:]:
    train(*job.split(","))
