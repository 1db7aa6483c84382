"""torchvision's reference for classification, on batches that are prepared already: the loss of the last batch, weights and their average."""

import torch
import torch.nn.functional as F
import torchvision
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def main(inputs, arch, epochs, rate, smoothing, norm, decay, every):
    batches = []
    while f"images {len(batches)}" in inputs:
        batches.append([inputs.pop(f"{kind} {len(batches)}") for kind in ("images", "targets")])
    epochs, every = int(epochs), int(every)
    model = torchvision.models.get_model(arch, num_classes=3)
    model.load_state_dict(inputs)
    model.to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=float(rate), momentum=0.9, weight_decay=1e-4, fused=True)
    warmup = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.01, total_iters=1)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs - 1, eta_min=0)
    schedule = torch.optim.lr_scheduler.SequentialLR(opt, [warmup, cosine], milestones=[1])
    adjust = len(batches[0][0]) * every / epochs
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(1 - min(1.0, (1 - float(decay)) * adjust)), use_buffers=True)
    for epoch in range(epochs):
        for i, (images, targets) in enumerate(batches[epoch * len(batches) // epochs:(epoch + 1) * len(batches) // epochs]):
            model.train()
            loss = F.cross_entropy(model(images.to(memory_format=torch.channels_last)), targets, label_smoothing=float(smoothing))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), float(norm))
            opt.step()
            opt.zero_grad()
            if i % every == 0:
                average.update_parameters(model)
                if epoch < 1:
                    average.n_averaged.fill_(0)
        schedule.step()
    return {"loss": loss.detach(), **{"model." + k: v for k, v in model.state_dict().items()},
            **{"average." + k: v for k, v in average.state_dict().items()}}
