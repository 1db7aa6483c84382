"""PyTorch's DCGAN tutorial, for images of 32 x 32: weights and mean losses after one pass over the images."""

import torch
from torch import nn


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


def main(inputs, size, nz, n):
    images, nz, n = inputs["images"], int(nz), int(n)
    torch.manual_seed(0)
    net_g = nn.Sequential(
        nn.ConvTranspose2d(nz, 4 * n, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * n), nn.ReLU(True),
        nn.ConvTranspose2d(4 * n, 2 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * n), nn.ReLU(True),
        nn.ConvTranspose2d(2 * n, n, 4, 2, 1, bias=False), nn.BatchNorm2d(n), nn.ReLU(True),
        nn.ConvTranspose2d(n, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )
    net_g.apply(weights_init)
    net_d = nn.Sequential(
        nn.Conv2d(1, n, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(n, 2 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * n), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(2 * n, 4 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * n), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(4 * n, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )
    net_d.apply(weights_init)
    criterion = nn.BCELoss()
    optimizer_d = torch.optim.Adam(net_d.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
    optimizer_g = torch.optim.Adam(net_g.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    total_d = total_g = 0.0
    for batch in order.split(int(size)):
        real, b = images[batch], len(batch)
        net_d.zero_grad()
        err_real = criterion(net_d(real).view(-1), torch.ones(b))
        err_real.backward()
        fake = net_g(torch.randn(b, nz, 1, 1))
        err_fake = criterion(net_d(fake.detach()).view(-1), torch.zeros(b))
        err_fake.backward()
        optimizer_d.step()
        net_g.zero_grad()
        err_g = criterion(net_d(fake).view(-1), torch.ones(b))
        err_g.backward()
        optimizer_g.step()
        total_d += (err_real + err_fake).item() * b
        total_g += err_g.item() * b
    results = {"lossD": total_d / len(images), "lossG": total_g / len(images)}
    results = {k: torch.tensor(v, dtype=torch.float64) for k, v in results.items()}
    for name, net in (("G", net_g), ("D", net_d)):
        results |= {f"{name}.{key}": value for key, value in net.state_dict().items()}
    return results
