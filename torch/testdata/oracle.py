"""PyTorch answers: one JSON object with Python code a line comes in, one goes out.

The code runs in a fresh namespace and leaves its answer in y: a tensor, a sequence of
tensors, or anything that str can show. It may leave a text of its own choice too.
"""
import base64
import json
import sys

import torch


def dump(t):
    host = t.detach().to("cpu").resolve_conj().resolve_neg().contiguous()
    raw = host.reshape(-1).view(torch.uint8).numpy().tobytes() if host.numel() else b""
    return {"dtype": str(t.dtype), "shape": list(t.shape), "data": base64.b64encode(raw).decode()}


def tensors(y):
    if isinstance(y, torch.Tensor):
        return [] if y.is_meta or y.layout != torch.strided else [dump(y)]
    if isinstance(y, (list, tuple)):
        return [dump(t) for t in y if isinstance(t, torch.Tensor)]
    return []


def answer(code):
    names = {"torch": torch}
    try:
        exec(code, names)
        y = names["y"]
        return {"text": names.get("text", str(y)), "tensors": tensors(y)}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}


torch.set_num_threads(1)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line)["code"])), flush=True)
