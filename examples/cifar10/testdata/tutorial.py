"""The tutorial in Python: of each epoch the last loss and the mean loss, and the part of the test images that are right."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def main(inputs, epochs, size, rate, momentum):
    def pixels(images):
        return images.float() / 127.5 - 1

    training = TensorDataset(inputs["images"], inputs["labels"])
    torch.manual_seed(0)
    net = Net()
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(net.parameters(), lr=float(rate), momentum=float(momentum), fused=True)
    rows = []
    for epoch in range(int(epochs)):
        order = torch.randperm(len(training), generator=torch.Generator().manual_seed(epoch)).tolist()
        total = 0.0
        for images, labels in DataLoader(Subset(training, order), batch_size=int(size)):
            opt.zero_grad()
            loss = criterion(net(pixels(images)), labels)
            loss.backward()
            opt.step()
            total += loss.item() * len(images)
        rows.append([loss.item(), total / len(training)])
    with torch.no_grad():
        right = net(pixels(inputs["test"])).argmax(1) == inputs["answers"]
    return {"rows": torch.tensor(rows, dtype=torch.float64), "right": right.sum(), "of": len(right)}
