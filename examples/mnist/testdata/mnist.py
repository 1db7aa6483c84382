"""The same training in Python: of each epoch the last loss, the mean loss and the part of the test images that are right."""

import torch
import torch.nn.functional as F
from torch import nn


def main(inputs, epochs, size, rate):
    def pixels(images):
        return (images.float() / 255 - 0.1307) / 0.3081

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10),
    )
    opt = torch.optim.Adam(model.parameters(), lr=float(rate), fused=True)
    rows = []
    for epoch in range(int(epochs)):
        order = torch.randperm(len(inputs["images"]), generator=torch.Generator().manual_seed(epoch))
        model.train()
        total = 0.0
        for batch in order.split(int(size)):
            images, labels = inputs["images"][batch], inputs["labels"][batch]
            loss = F.cross_entropy(model(pixels(images)), labels)
            loss.backward()
            opt.step()
            opt.zero_grad()
            total += loss.item() * len(images)
        model.eval()
        with torch.inference_mode():
            right = model(pixels(inputs["test"])).argmax(1) == inputs["answers"]
        rows.append([loss.item(), total / len(order), right.double().mean().item()])
    return {"rows": torch.tensor(rows, dtype=torch.float64)}
