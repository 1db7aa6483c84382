"""The tutorial on transfer learning, on batches that are prepared already: the last loss, and the weights. New layers and what is
frozen are the program's."""

import torch
import torchvision


def main(inputs, arch, fresh, frozen, epochs, rate):
    batches = []
    while f"images {len(batches)}" in inputs:
        batches.append([inputs.pop(f"{kind} {len(batches)}") for kind in ("images", "targets")])
    model = torchvision.models.get_model(arch, num_classes=3)
    model.load_state_dict(inputs)
    params = []
    for name, p in model.named_parameters():
        p.requires_grad = frozen == "false" or name.startswith(fresh + ".")
        if p.requires_grad:
            params.append(p)
    opt = torch.optim.SGD(params, lr=float(rate), momentum=0.9, fused=True)
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=7, gamma=0.1)
    each = len(batches) // int(epochs)
    for i, (images, targets) in enumerate(batches):
        model.train()
        loss = torch.nn.functional.cross_entropy(model(images), targets)
        loss.backward()
        opt.step()
        opt.zero_grad()
        if (i + 1) % each == 0:
            schedule.step()
    return {"loss": loss.detach(), **model.state_dict()}
