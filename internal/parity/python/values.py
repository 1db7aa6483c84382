"""Writes tensors and other arguments of operators to a file, and reads them back."""

import hashlib
import json
import struct

import torch

LIMIT = 1 << 28  # bytes of a storage


class Unsupported(Exception):
    """A value that has no form in a file."""


class Chunk:
    """The cases of one entry and the storages they refer to."""

    def __init__(self):
        self.cases, self.storages, self.index = [], [], {}

    def storage(self, flat):
        if flat._is_zerotensor():
            raise Unsupported("a tensor without storage")
        flat = flat.contiguous().as_strided((flat.numel(),), (1,))  # a size of 1 may have any stride
        raw = flat.cpu().view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        if len(raw) > LIMIT:
            raise Unsupported("a tensor of more than 256 MiB")
        key = hashlib.blake2b(raw, digest_size=16).digest()
        if key not in self.index:
            self.index[key] = len(self.storages)
            self.storages.append(raw)
        return self.index[key]

    def write(self, path, name):
        header, at = {"__metadata__": {"name": name, "cases": json.dumps(self.cases)}}, 0
        for i, raw in enumerate(self.storages):
            header[str(i)] = {"dtype": "U8", "shape": [len(raw)], "data_offsets": [at, at + len(raw)]}
            at += len(raw)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for raw in self.storages:
                f.write(raw)


def dump_tensor(chunk, t):
    """What is needed to build a tensor with the same elements, strides and flags."""
    if type(t) not in (torch.Tensor, torch.nn.Parameter):
        raise Unsupported(f"a {type(t).__name__}")
    d = {"dtype": str(t.dtype)[6:], "shape": list(t.shape)}
    if t.device.type == "meta":
        return d | {"layout": "meta", "stride": list(t.stride())}
    if t.device.type == "cuda":
        d["device"] = "cuda:0"
    elif t.device.type != "cpu":
        raise Unsupported(f"a tensor on {t.device.type}")
    if t.requires_grad:
        d["grad"] = True
    t = t.detach()
    if t.layout == torch.sparse_coo:
        d["layout"] = "sparse_coo"
        d["parts"] = [dump_tensor(chunk, t._indices()), dump_tensor(chunk, t._values())]
        d["coalesced"] = t.is_coalesced()
        return d
    if t.layout in COMPRESSED:
        d["layout"] = str(t.layout)[6:]
        outer, inner = COMPRESSED[t.layout]
        d["parts"] = [dump_tensor(chunk, getattr(t, outer)()), dump_tensor(chunk, getattr(t, inner)()), dump_tensor(chunk, t.values())]
        return d
    if t.layout != torch.strided or t.is_quantized:
        raise Unsupported(f"layout {t.layout}")
    if torch._C._functorch.is_functorch_wrapped_tensor(t):
        raise Unsupported("a wrapped tensor")
    if t._is_zerotensor():
        raise Unsupported("a tensor without storage")
    d["conj"], d["neg"] = t.is_conj(), t.is_neg()
    t = torch._neg_view(t) if d["neg"] else t
    t = torch._conj(t) if d["conj"] else t
    span = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) if t.numel() else 0
    d["stride"] = list(t.stride())
    d["storage"] = chunk.storage(t.as_strided((span,), (1,)).clone())
    return d


COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"), torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"), torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


def load_tensor(chunk, d, shared=None):
    dtype, shape = getattr(torch, d["dtype"]), d["shape"]
    layout = d.get("layout")
    if layout == "sparse_coo":
        t = torch.sparse_coo_tensor(*(load_tensor(chunk, p) for p in d["parts"]), shape, dtype=dtype, check_invariants=False, is_coalesced=d["coalesced"] or None)
    elif layout == "meta":
        t = torch.empty_strided(shape, d["stride"], dtype=dtype, device="meta")
    elif layout:
        t = torch.sparse_compressed_tensor(*(load_tensor(chunk, p) for p in d["parts"]), shape, dtype=dtype, layout=getattr(torch, layout), check_invariants=False)
    else:
        device = d.get("device", "cpu")
        flat = load_storage(chunk, d["storage"], dtype).to(device)
        if d.get("shared"):
            flat = shared.setdefault(d["storage"], flat)
        empty = not flat.numel()
        t = torch.empty_strided(shape, d["stride"], dtype=dtype, device=device) if empty else flat.as_strided(shape, d["stride"], d.get("offset", 0))
        t = torch._conj(t) if d["conj"] else t
        t = torch._neg_view(t) if d["neg"] else t
    return t.requires_grad_() if d.get("grad") else t


def load_storage(chunk, i, dtype):
    raw = chunk.storages[i]
    flat = torch.empty(len(raw) // dtype.itemsize, dtype=dtype)
    if raw:
        flat.view(torch.uint8).copy_(torch.frombuffer(bytearray(raw), dtype=torch.uint8))
    return flat


class Dumper:
    """Turns the arguments of one case to JSON; the same tensor twice stays one tensor."""

    def __init__(self, chunk):
        self.chunk, self.tensors, self.seen, self.alive = chunk, [], {}, []

    def tensor(self, t):
        if id(t) not in self.seen:
            self.seen[id(t)] = len(self.tensors)
            self.alive.append(t)
            self.tensors.append(dump_tensor(self.chunk, t))
        return {"t": self.seen[id(t)]}

    def share(self):
        """Says of tensors in the same memory where in it they are, for operators that look."""
        groups = {}
        for i, t in enumerate(self.alive):
            if t.layout == torch.strided and t.numel() and not t.requires_grad and not t.is_conj() and not t.is_neg():
                groups.setdefault(t.untyped_storage().data_ptr(), []).append(i)
        for members in groups.values():
            dtypes = {self.alive[i].dtype for i in members}
            if len(members) < 2 or len(dtypes) > 1:
                continue
            t = self.alive[members[0]]
            n = t.untyped_storage().nbytes() // t.dtype.itemsize
            whole = self.chunk.storage(t.detach().as_strided((n,), (1,), 0).clone())
            for i in members:
                self.tensors[i] |= {"storage": whole, "shared": True, "offset": self.alive[i].storage_offset()}

    def __call__(self, v):
        if v is None:
            return None
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if isinstance(v, bool):
            return {"b": v}
        if isinstance(v, int):
            return {"i": str(v)}
        if isinstance(v, float):
            return {"f": v.hex()}
        if isinstance(v, complex):
            return {"c": [v.real.hex(), v.imag.hex()]}
        if isinstance(v, str):
            return {"s": v}
        if isinstance(v, torch.dtype):
            return {"dtype": str(v)[6:]}
        if isinstance(v, torch.device):
            return {"device": str(v)}
        if isinstance(v, torch.layout):
            return {"layout": str(v)[6:]}
        if isinstance(v, torch.memory_format):
            return {"format": str(v)[6:]}
        if isinstance(v, torch.Generator) and v.device.type == "cpu":
            return {"generator": str(v.initial_seed())}
        if isinstance(v, (list, tuple)):
            return {"l": [self(x) for x in v]}
        raise Unsupported(f"a {type(v).__name__}")


class Loader:
    def __init__(self, chunk, tensors):
        shared = {}
        self.tensors = [load_tensor(chunk, d, shared) for d in tensors]

    def __call__(self, v):
        if v is None:
            return None
        (kind, x), = v.items()
        match kind:
            case "t":
                return self.tensors[x]
            case "i":
                return int(x)
            case "f":
                return float.fromhex(x)
            case "c":
                return complex(*map(float.fromhex, x))
            case "dtype" | "layout" | "format":
                return getattr(torch, x)
            case "device":
                return torch.device(x)
            case "generator":
                return torch.Generator().manual_seed(int(x))
            case "l":
                return [self(y) for y in x]
        return x
