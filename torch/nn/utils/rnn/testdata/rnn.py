"""What rnn_test.go does."""

import torch
from torch.nn.utils import rnn


def main(inputs):
    results = {}
    sequences = [inputs[k].requires_grad_() for k in ("a", "b", "c")]
    for first in (False, True):
        for unsorted in (False, True):
            list_ = sequences if unsorted else [sequences[i] for i in (1, 0, 2)]
            lengths = [len(s) for s in list_]
            name = f"{first} {unsorted} ".lower()
            padded = rnn.pad_sequence(list_, batch_first=first, padding_value=0.5)
            packed = rnn.pack_padded_sequence(padded, lengths, batch_first=first, enforce_sorted=not unsorted)
            results |= {name + k: t for k, t in packed._asdict().items() if t is not None}
            again, n = rnn.pad_packed_sequence(packed, batch_first=first, padding_value=-1.0, total_length=7)
            results |= {name + "padded": padded.clone(), name + "again": again, name + "lengths": n}
            results |= {f"{name}unpadded{i}": t for i, t in enumerate(rnn.unpad_sequence(padded.clone(), torch.tensor(lengths), first))}  # which transposes it
            (again * again).sum().backward()
            for k in ("a", "b", "c"):
                results[f"{name}grad {k}"] = inputs[k].grad
                inputs[k].grad = None
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    results |= {"packed " + k: t for k, t in packed._asdict().items()}
    results |= {f"unpacked{i}": t for i, t in enumerate(rnn.unpack_sequence(packed))}
    results["left"] = rnn.pad_sequence(sequences, padding_side="left")
    results["inverse"] = rnn.invert_permutation(torch.tensor([2, 0, 3, 1]))
    return results
