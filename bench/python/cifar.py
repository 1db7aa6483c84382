"""examples/cifar10 -fast in Python: the same network, recipe and images, in batches that are cropped and mirrored as a whole.

    cifar.py DATA [IMAGES [EPOCHS [BATCH]]]     DATA has cifar-10-batches-bin in it
"""

import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "examples", "cifar10", "testdata"))
from fast import Net, whitening  # the program that Go's is compared with, bit for bit

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
STD = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)
PADDING = 2


def load(folder, names, limit):
    """Images, uint8 [N, 3, 32, 32], and their classes."""
    rows = np.concatenate([np.fromfile(os.path.join(folder, "cifar-10-batches-bin", n), np.uint8).reshape(-1, 3073) for n in names])
    rows = torch.from_numpy(rows)[: limit or None]
    return rows[:, 1:].reshape(-1, 3, 32, 32).contiguous(), rows[:, 0].long()


def still(images):
    return (images.float().div_(255).sub_(MEAN).div_(STD)).contiguous(memory_format=torch.channels_last)


def moved(images):
    """Random squares out of a frame of zeros, mirrored with probability 1/2."""
    n = len(images)
    framed = F.pad(images, [PADDING] * 4)
    side = torch.arange(32)
    rows = side + torch.randint(2 * PADDING + 1, (n, 1))
    columns = side + torch.randint(2 * PADDING + 1, (n, 1))
    columns = torch.where(torch.rand(n, 1) < 0.5, columns, columns.flip(1))
    return still(framed[torch.arange(n).view(n, 1, 1, 1), torch.arange(3).view(1, 3, 1, 1), rows.view(n, 1, 32, 1), columns.view(n, 1, 1, 32)])


def main(folder, limit=0, epochs=1, batch=512):
    images, classes = load(folder, [f"data_batch_{i}.bin" for i in range(1, 6)], limit)
    test, answers = load(folder, ["test_batch.bin"], (limit + 4) // 5)
    print(f"{len(images)} images, for training: True\n{len(test)} images, for training: False", flush=True)
    torch.manual_seed(0)
    net = Net()
    with torch.no_grad():
        net.whiten.weight.copy_(whitening(still(images[:1000]).contiguous()))
    net.whiten.weight.requires_grad = False
    net.to(memory_format=torch.channels_last)
    steps = epochs * ((len(images) + batch - 1) // batch)
    rate = 0.4 * (batch / 512) ** 0.5
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=rate, momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, rate, total_steps=steps, cycle_momentum=False)
    start = time.monotonic()
    for _ in range(epochs):
        net.train()
        for picked in torch.randperm(len(images)).split(batch):
            loss = F.cross_entropy(net(moved(images[picked])), classes[picked], label_smoothing=0.2)
            loss.backward()
            opt.step()
            opt.zero_grad()
            schedule.step()
        net.eval()
        with torch.inference_mode():
            right = 0
            for x, y in zip(test.split(batch), answers.split(batch)):
                x = still(x)
                right += ((net(x) + net(x.flip(3))).argmax(1) == y).sum().item()
        print(f" * Acc@1 {100 * right / len(test):.3f} after {time.monotonic() - start:.0f}s", flush=True)


main(sys.argv[1], *map(int, sys.argv[2:]))
