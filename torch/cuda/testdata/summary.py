"""Prints torch.cuda.memory_summary of each set of counters in the JSON argument."""

import json
import sys

import torch

for counters in json.loads(sys.argv[1]):
    torch.cuda.memory.memory_stats = lambda device=None: counters
    sys.stdout.write(torch.cuda.memory.memory_summary(3))
    sys.stdout.write(torch.cuda.memory.memory_summary(12, abbreviated=True))
