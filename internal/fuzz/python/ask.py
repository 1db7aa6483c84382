"""Makes the calls of cases as Python would, and says what came of them.

Reads a case a line, and prints lines of JSON: {"call": what Python was asked}, then
{"outcome": what it answered}, once more for gradients, and {"done": true}.
"""

import ast
import json
import math
import re
import resource
import sys
import warnings

import torch

MIX = [0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 3.4028234663852886e38, -3.4028234663852886e38, 1e-45, 2.0**31, 2.0**24]
WHOLES = [0, 1, -1, 2**63 - 1, -(2**63), 2**31, 2**32, 127, -128, 2**53, 2**31 - 1, -(2**31)]


def number(fill, i, m):
    match fill:
        case "z":
            return 0.0
        case "o":
            return 1.0
        case "p":
            return (i * 7 % 11 + 0.5) / 11
        case "q":
            return (i * 7 % 11 + 1) / 4
        case "nan":
            return math.nan
        case "inf":
            return math.inf
        case "ninf":
            return -math.inf
        case "max":
            return MIX[7]
        case "min":
            return MIX[8]
        case "mix":
            return MIX[i * 7 % len(MIX)]
        case "spd":
            r, c = i // m % m, i % m
            return float(m) if r == c else ((r + c) % 3 - 1) / 4
    if fill.startswith("i"):
        return float(i * 5 % max(1, int(fill[1:])))
    return ((i * 7 + 3) % 11 - 5) / 4


def whole(fill, i, dtype):
    bits = 8 * dtype.itemsize - 1
    match fill:
        case "max":
            return 2**bits - 1
        case "min":
            return -(2**bits)
        case "mix":
            return WHOLES[i * 7 % len(WHOLES)]
        case "":
            return (i * 7 + 3) % 11 - 5
    return int(number(fill, i, 1))


FORMS = {
    "t": lambda x: x if x.dim() < 2 else x.mT.contiguous().mT,
    "step": lambda x: torch.stack([x, x], x.dim()).select(-1, 0),
    "offset": lambda x: torch.stack([x, x]).select(0, 1),
    "expand": lambda x: x if x.dim() == 0 or x.shape[0] == 0 else x.narrow(0, 0, 1).expand(x.shape),
    "overlap": lambda x: x.reshape(-1).contiguous().as_strided(x.shape, [1] * x.dim()),
    "cl": lambda x: x.contiguous(memory_format={4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim(), torch.contiguous_format)),
    "coo": lambda x: x.to_sparse(),
    "uncoo": lambda x: torch.cat([x.to_sparse()] * 2, 0),
    "hybrid": lambda x: x.to_sparse(1),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr([1, 1]),
    "bsc": lambda x: x.to_sparse_bsc([1, 1]),
    "mkldnn": lambda x: x.to_mkldnn(),
    "meta": lambda x: x.to("meta"),
    "nested": lambda x: torch._nested_tensor_from_tensor_list([x, x]),
    "conj": lambda x: torch._conj(x),
    "neg": lambda x: torch._neg_view(x),
    "zero": lambda x: torch._efficientzerotensor(x.shape, dtype=x.dtype),
    "qchannel": lambda x: torch.quantize_per_channel(x, torch.full([x.shape[0]], 0.5), torch.zeros(x.shape[0], dtype=torch.int64), 0, torch.qint8),
    "undefined": lambda x: None,
    "closed": lambda x: x,
    "grad": lambda x: x.detach().requires_grad_(),
    "nonleaf": lambda x: x.detach().requires_grad_() * 1,
    "view": lambda x: x.view(x.shape),
    "row": lambda x: x.select(0, 0),
    "wide": lambda x: x,
}


class Case:
    """Reads a case: case.go has the language."""

    def __init__(self, line):
        self.text, self.at, self.tensors, self.grads = line.strip(), 0, [], []
        self.target = self.until(" ").removeprefix("call:").split("#")[0]
        self.args = {}
        while self.skip(" "):
            name = self.until("=")
            self.at += 1
            self.args[name] = self.value()

    def until(self, stops):
        found = re.compile("[^" + re.escape(stops) + "]*").match(self.text, self.at)
        self.at = found.end()
        return found[0]

    def skip(self, word):
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def value(self):
        if self.skip("("):
            out = []
            while not self.skip(")"):
                out.append(self.value())
                self.skip(",")
            return out
        if self.skip("&"):
            return self.forms(self.tensors[int(self.until(" +,)"))])
        if self.text[self.at] == '"':
            found = re.compile(r'"(\\.|[^"\\])*"').match(self.text, self.at)
            self.at = found.end()
            return ast.literal_eval(found[0])
        if self.skip("c("):
            re_, im = float(self.until(",")), self.at
            self.at = im + 1
            value = complex(re_, float(self.until(")")))
            self.at += 1
            return value
        for kind in ("dtype", "layout", "format"):
            if self.skip(kind + ":"):
                word = self.until(" ,)")
                return int(word) if word.isdigit() else getattr(torch, "_mkldnn" if word == "mkldnn" else word)
        if self.skip("device:"):
            return torch.device(self.until(" ,)"))
        if self.skip("gen:"):
            return torch.Generator().manual_seed(int(self.until(" ,)")))
        word = self.until(" ,()[]")
        if self.at < len(self.text) and self.text[self.at] == "[":
            return self.tensor(word)
        plain = {"nil": None, "true": True, "false": False}
        if word in plain:
            return plain[word]
        return int(word) if re.fullmatch("-?[0-9]+", word) else float(word.replace("Inf", "inf"))

    def tensor(self, dtype):
        self.at += 1
        shape = [int(s) for s in self.until("]").split(",") if s]
        self.at += 1
        fill, data = "", None
        if self.skip(":"):
            fill = self.until(" +,)")
        elif self.skip("{"):
            data = [int(s) for s in self.until("}").split(",") if s]
            self.at += 1
        at = len(self.tensors)
        self.tensors.append(None)
        if self.text.startswith("+wide", self.at):
            base = torch.zeros(1, dtype=getattr(torch, dtype)).expand(shape)
        else:
            base = elements(getattr(torch, dtype), shape, fill, data)
        self.tensors[at] = self.forms(base)
        return self.tensors[at]

    def forms(self, t):
        while self.skip("+"):
            word = self.until(" +,)")
            if word == "inference":
                with torch.inference_mode():
                    t = t.clone()
                continue
            t = FORMS[word](t)
            if word in ("grad", "nonleaf"):
                self.grads.append(t)
        return t


def elements(dtype, shape, fill, data):
    n, m = math.prod(shape), max(1, shape[-1]) if shape else 1
    if dtype in (torch.quint8, torch.qint8, torch.qint32):
        return torch.quantize_per_tensor(torch.tensor([number(fill, i, m) for i in range(n)]).reshape(shape), 0.5, 1, dtype)
    if data is not None:
        return torch.tensor([data[i % len(data)] for i in range(n)] if data else [0] * n, dtype=torch.int64).reshape(shape).to(dtype)
    if dtype.is_complex:
        f = [number(fill, i, m) for i in range(n)]
        if fill not in ("spd", "z", "o"):
            f = [complex(f[i], f[(i + 1) % n]) for i in range(n)]
        return torch.tensor(f, dtype=torch.complex64).reshape(shape).to(dtype)
    if dtype.is_floating_point:
        return torch.tensor([number(fill, i, m) for i in range(n)], dtype=torch.float32).reshape(shape).to(dtype)
    if "bits" in str(dtype) or "x" in str(dtype):
        return torch.zeros(n, dtype=torch.uint8).reshape(shape).view(dtype)
    return torch.tensor([whole(fill, i, dtype) for i in range(n)], dtype=torch.int64).reshape(shape).to(dtype)


def shown(v):
    if isinstance(v, torch.Tensor):
        try:
            flags = [str(v.layout)[6:]] * (v.layout != torch.strided) + [f"stride={tuple(v.stride())}"] * (v.layout == torch.strided and not v.is_contiguous())
        except RuntimeError:
            flags = ["nested"]
        flags += ["grad"] * v.requires_grad + ["conj"] * v.is_conj() + ["neg"] * v.is_neg() + ["meta"] * v.is_meta + ["zerotensor"] * v._is_zerotensor()
        shape = "?" if v.is_nested else str(list(v.shape))
        return f"<{str(v.dtype)[6:]}{shape}{' ' if flags else ''}{' '.join(flags)}>"
    return "[" + ", ".join(map(shown, v)) + "]" if isinstance(v, (list, tuple)) else repr(v)


def ask(line):
    c = Case(line)
    name, _, overload = c.target.partition(".")
    library, _, name = name.rpartition("::")
    library = library or "aten"
    call = f"torch.ops.{library}.{name}.{overload or 'default'}({', '.join(k + '=' + shown(v) for k, v in c.args.items())})"
    print(json.dumps({"call": call}), flush=True)
    try:
        torch.manual_seed(7)
        out = getattr(getattr(getattr(torch.ops, library), name), overload or "default")(**c.args)
        print(json.dumps({"outcome": shown(out)}), flush=True)
        roots = [t for t in (out if isinstance(out, (list, tuple)) else [out]) if isinstance(t, torch.Tensor) and t.requires_grad]
        if roots and c.grads:
            torch.autograd.grad(roots, c.grads, [torch.ones_like(t) for t in roots], allow_unused=True)
            print(json.dumps({"outcome": "and its gradients"}), flush=True)
    except Exception as e:
        print(json.dumps({"outcome": f"{type(e).__name__}: {str(e)[:300]}"}), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    room = 4 << 30  # what is legal and huge is to fail, and not to take the machine's memory
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + room, taken + room))
    for line in sys.stdin:
        ask(line)
        print(json.dumps({"done": True}), flush=True)
