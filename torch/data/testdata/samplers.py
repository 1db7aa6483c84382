"""What PyTorch's samplers visit, with a generator seeded by 11 and epoch 2, and its split with seed 13."""

import torch
from torch.utils.data import DistributedSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler, random_split


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def distributed(n):
    sampler = DistributedSampler(range(n), 3, 1, seed=11, drop_last=True)
    sampler.set_epoch(2)
    return sampler


def main(inputs):
    weights = inputs["weights"]
    samplers = {
        "of": SubsetRandomSampler([40, 50, 60, 70, 80], seeded(13)),
        "draws": RandomSampler(range(10), replacement=True, num_samples=77, generator=seeded(13)),
        "weighted": WeightedRandomSampler(weights, 50, True, seeded(13)),
        "weighted_no": WeightedRandomSampler(weights, 5, False, seeded(13)),
        "dropped": distributed(10),
        "few": distributed(2),
    }
    for i, part in enumerate(random_split(range(11), [0.5, 0.3, 0.2], seeded(13))):
        samplers[f"split{i}"] = part
    return {name: torch.tensor(list(s), dtype=torch.int64) for name, s in samplers.items()}
