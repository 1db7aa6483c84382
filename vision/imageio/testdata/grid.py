"""torchvision.utils.make_grid, without what is optional in it."""

import math

import torch


def main(inputs, nrow, padding):
    images, padding = inputs["images"], int(padding)
    xmaps = min(int(nrow), len(images))
    ymaps = math.ceil(len(images) / xmaps)
    height, width = images.size(2) + padding, images.size(3) + padding
    grid = images.new_full((images.size(1), height * ymaps + padding, width * xmaps + padding), 0.0)
    for k, image in enumerate(images):
        y, x = divmod(k, xmaps)
        grid.narrow(1, y * height + padding, height - padding).narrow(2, x * width + padding, width - padding).copy_(image)
    return {"grid": grid}
