"""Records the operator calls that PyTorch's own test database makes, and what they give.

    python record.py DIR [--names REGEXP] [--samples N] [--dtypes D,D] [--mode calls|errors]

Writes DIR/NNNN.safetensors for each entry of op_db and prints a line of JSON when it is
complete: {"name", "dtype", "file", ...}. The file's metadata has the cases; its tensors are storages,
as bytes. A case is one call of an operator with everything it takes. It is repeated here
from what the file says, with the seed set, so that whoever reads the file starts from the
same: the sample's tensors may share memory or a history, those of a case do not.
"""

import argparse
import contextlib
import hashlib
import inspect
import json
import os
import re
import struct
import sys
import warnings

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils._python_dispatch import TorchDispatchMode

SEED = 7
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
        raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
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


# ---- values to JSON and back ------------------------------------------------------------


def dump_tensor(chunk, t):
    """What is needed to build a tensor with the same elements, strides and flags."""
    if type(t) not in (torch.Tensor, torch.nn.Parameter):
        raise Unsupported(f"a {type(t).__name__}")
    d = {"dtype": str(t.dtype)[6:], "shape": list(t.shape)}
    if t.device.type == "meta":
        return d | {"layout": "meta", "stride": list(t.stride())}
    if t.device.type != "cpu":
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
        flat = load_storage(chunk, d["storage"], dtype)
        if d.get("shared"):
            flat = shared.setdefault(d["storage"], flat)
        empty = not flat.numel()
        t = torch.empty_strided(shape, d["stride"], dtype=dtype) if empty else flat.as_strided(shape, d["stride"], d.get("offset", 0))
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
        if isinstance(v, torch.Generator):
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


# ---- recording ---------------------------------------------------------------------------


class Below(TorchDispatchMode):
    """Hands keep each call before it is made: the calls that operators make of each other,
    of the backward pass too."""

    def __init__(self, keep):
        super().__init__()
        self.keep = keep

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        done = self.keep(func, args, kwargs or {})
        out = func(*args, **(kwargs or {}))
        done()
        return out


class Above(Below, SchemaCheckMode):
    """The same above autograd: the calls that a program makes. PyTorch lets three kinds of
    modes that far up, of which the one that checks schemas is the one to be."""

    def __init__(self, keep):
        super().__init__(keep)
        self._dispatch_key = torch._C.DispatchKey.PreDispatch

    def __enter__(self):
        self.python = enable_python_dispatcher()
        self.python.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.python.__exit__(*error)


class Recorder:
    def __init__(self, chunk, per_call, seen):
        self.chunk, self.per_call, self.seen = chunk, per_call, seen
        self.skipped, self.pending = {}, []
        self.inner = False

    def keep(self, func, args, kwargs):
        """Notes a call; what the case lacks is made later, outside of the modes."""
        schema = func._schema
        name = schema.name.removeprefix("aten::") + ("." + schema.overload_name if schema.overload_name else "")
        case = {"op": name, "inner": self.inner}
        if not schema.name.startswith("aten::"):
            self.skip(name, "not an ATen operator")
            return lambda: None
        if self.inner and self.seen.get(name, 0) >= self.per_call:
            return lambda: None
        self.seen[name] = self.seen.get(name, 0) + 1
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            try:
                dump = Dumper(self.chunk)
                named = dict(zip((a.name for a in schema.arguments), args)) | kwargs
                case["args"] = {k: dump(v) for k, v in named.items()}
                case["rest"] = {a.name: dump(a.default_value) for a in schema.arguments if a.name not in named}
                case["write"] = [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write]
                dump.share()
                case["tensors"] = dump.tensors
            except Unsupported as e:
                self.skip(name, str(e))
                return lambda: None
        self.pending.append((func, case))

        def done():
            case["returned"] = True

        return done

    def skip(self, name, why):
        self.skipped[name] = why

    def finish(self):
        """Makes the pending calls again, each by itself."""
        for func, case in self.pending:
            if not case.pop("returned", False):
                continue  # failed in the sample as well, and the sample lives with it
            complete(self.chunk, func, case)
            self.chunk.cases.append(case)
        self.pending = []


def seeds(t):
    """What is fed into the backward pass: a few exact numbers, for every element its own."""
    n = torch.arange(t.numel(), dtype=torch.float64)
    v = (n % 7 - 3) / 4 + 0.125
    if t.dtype.is_complex:
        v = torch.complex(v, (n % 5 - 2) / 4)
    return v.to(t.dtype).reshape(t.shape)


def tensors_in(v):
    if isinstance(v, torch.Tensor):
        return [v]
    return [t for x in v for t in tensors_in(x)] if isinstance(v, (list, tuple)) else []


def prepare(chunk, func, case):
    """The arguments of a case. What is written to is a copy, so that it may need gradients."""
    load = Loader(chunk, case["tensors"])
    leaves = list(load.tensors)
    written = set()
    for name in case["write"]:
        v = case["args"].get(name)
        for x in [v] if v and "t" in v else (v or {}).get("l", []):
            if x:
                written.add(x["t"])
    for i in written:
        load.tensors[i] = load.tensors[i].clone() if leaves[i].requires_grad else load.tensors[i]
    kwargs = {k: load(v) for k, v in case["args"].items()}
    args = []
    for a in func._schema.arguments:
        if a.name not in kwargs or a.kwarg_only:
            break
        args.append(kwargs.pop(a.name))
    return leaves, args, kwargs, [load.tensors[i] for i in sorted(written)]


def complete(chunk, func, case):
    leaves, args, kwargs, written = prepare(chunk, func, case)
    torch.manual_seed(SEED)
    try:
        out = func(*args, **kwargs)
    except Exception as e:
        case["error"] = failure(e)
        return
    try:
        grads(chunk, case, leaves, out)
        with torch.no_grad():
            case["written"] = [dump_out(chunk, t) for t in written]
            case["out"] = [dump_out(chunk, x) for x in (out if isinstance(out, (tuple, list)) and len(func._schema.returns) != 1 else [out])]
    except Unsupported as e:
        case["unsupported"] = str(e)


def grads(chunk, case, leaves, out):
    """Adds the gradients of everything that needs one."""
    roots = [t for t in tensors_in(out) if t.requires_grad]
    want = [i for i, d in enumerate(case["tensors"]) if d.get("grad")]
    if not roots or not want:
        return
    try:
        got = torch.autograd.grad(roots, [leaves[i] for i in want], [seeds(t) for t in roots], allow_unused=True)
    except Exception as e:
        case["grad_error"] = failure(e)
        return
    case["grads"] = [dump_out(chunk, g) for g in got]


def dump_out(chunk, v):
    """A result: of a tensor the strides and the elements in order."""
    if isinstance(v, torch.Tensor):
        if v.layout == torch.strided and v.device.type == "cpu" and not v.is_quantized:
            stride = list(v.stride())
            v = v.detach().resolve_conj().resolve_neg()
            d = {"dtype": str(v.dtype)[6:], "shape": list(v.shape), "stride": stride}
            d["storage"] = chunk.storage(v)
            return {"tensor": d}
        return {"tensor": dump_tensor(chunk, v.detach())}
    if isinstance(v, (list, tuple)):
        return {"l": [dump_out(chunk, x) for x in v]}
    dump = Dumper(chunk)
    return dump(v)


def failure(e):
    return {"type": type(e).__name__, "text": str(e)}


# ---- the database ------------------------------------------------------------------------


def database(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    for op in op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if re.search(pattern, name):
            yield name, op


PREFERRED = [torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool]


def dtypes_of(op, wanted):
    """The dtypes to record an entry in; "" is the first of PREFERRED that it has."""
    have = op.supported_dtypes("cpu")
    first = next((d for d in PREFERRED if d in have), None) or min(have, key=str, default=None)
    got = [getattr(torch, w) if w else first for w in wanted]
    return [d for d in dict.fromkeys(got) if d in have]


def samples(op, dtype, limit):
    torch.manual_seed(SEED)
    needs = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    it = iter(op.sample_inputs("cpu", dtype, requires_grad=needs))
    return [s for s, _ in zip(it, range(limit))] if limit else list(it)


def calls(op, dtype, limit, opts, chunk, seen):
    rec = Recorder(chunk, opts.inner, seen)
    count = 0
    for s in samples(op, dtype, limit):
        count += 1
        torch.manual_seed(SEED)
        rec.inner = False
        with Above(rec.keep):
            op(s.input, *s.args, **s.kwargs)
        rec.finish()
        if opts.inner:
            rec.inner = True
            torch.manual_seed(SEED)
            with Below(rec.keep):
                out = op(s.input, *s.args, **s.kwargs)
            roots = [t for t in tensors_in(out) if t.requires_grad]
            feed = [seeds(t) for t in roots]
            with contextlib.suppress(RuntimeError), Below(rec.keep):  # some have no gradient in some dtypes
                if roots:
                    torch.autograd.backward(roots, feed)
            rec.finish()
    return {"samples": count, "skipped": rec.skipped}


def errors(op, dtype, limit, opts, chunk, seen):
    if op.error_inputs_func is None:
        return None
    rec = Recorder(chunk, 0, seen)
    count, python = 0, []
    for e in op.error_inputs("cpu"):
        count += 1
        s = e.sample_input
        torch.manual_seed(SEED)
        try:
            op(s.input, *s.args, **s.kwargs)
            python.append({"type": "none", "text": "Python accepts it", "input": describe(s)})
            continue
        except Exception as x:
            refused = failure(x) | {"input": describe(s)} | attempt(op, s, chunk)
        with contextlib.suppress(Exception), Above(rec.keep):
            op(s.input, *s.args, **s.kwargs)
        # What the operators say by themselves: with the mode on some are Python's own.
        failed, rec.pending = [p for p in rec.pending if "returned" not in p[1]][-1:], []
        for func, case in failed:
            complete(chunk, func, case)
        chunk.cases += [case for _, case in failed if "error" in case]
        if not any("error" in case for _, case in failed):
            python.append(refused)
    return {"samples": count, "skipped": rec.skipped, "python": python}


REVERSED = {"__rand__": "__and__", "__ror__": "__or__", "__rxor__": "__xor__"}


def attempt(op, s, chunk):
    """What Python was asked: of the operator of that name, or of the function by names."""
    dump, args, named = Dumper(chunk), (s.input, *s.args), None
    name = REVERSED.get(op.name) or re.sub("^__r([a-z]+)__$", r"\1", op.name)
    with contextlib.suppress(TypeError, ValueError):  # not Python's own, or not its signature
        # Pooling hides its signature behind the choice of one or two results.
        function = getattr(torch.nn.functional, "_" + op.name.removeprefix("nn.functional."), op.op)
        named = inspect.signature(function).bind(*args, **s.kwargs).arguments
    try:
        return {
            "op": name.replace(".", "_") if name.startswith("special.") else name if name != op.name else op.aten_name,
            "args": [dump(v) for v in args],
            "kwargs": {k: dump(v) for k, v in s.kwargs.items()},
            "named": named and {k: dump(v) for k, v in named.items()},
            "tensors": dump.tensors,
        }
    except Unsupported:
        return {}


def describe(s):
    return repr((s.input, s.args, s.kwargs))[:300]


def run(opts):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    seen = {}
    for i, (name, op) in enumerate(database(opts.names)):
        dtypes = dtypes_of(op, opts.dtypes.split(","))
        if not dtypes:
            print(json.dumps({"name": name, "op": op.name, "failed": "it has no such dtype on the CPU"}), flush=True)
        for d in dtypes:
            line, chunk = {"name": name, "op": op.name, "dtype": str(d)[6:]}, Chunk()
            try:
                limit = opts.samples if d == dtypes[0] else opts.others
                info = MODES[opts.mode](op, d, limit, opts, chunk, seen.setdefault(d, {}))
            except Exception as e:
                info = {"failed": str(e)}
            if info is None:
                continue
            line |= info
            line["file"] = os.path.join(opts.dir, f"{i:04}.{line['dtype']}.safetensors")
            chunk.write(line["file"], name)
            print(json.dumps(line), flush=True)


MODES = {"calls": calls, "errors": errors}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir")
    p.add_argument("--names", default="")
    p.add_argument("--samples", type=int, default=0, help="samples of each entry in its first dtype; 0 is all")
    p.add_argument("--others", type=int, default=2, help="samples of each entry in its other dtypes")
    p.add_argument("--inner", type=int, default=8, help="calls of each operator that others make; 0 is none")
    p.add_argument("--dtypes", default="", help="with commas; the empty one is float32, or what an entry has")
    p.add_argument("--mode", default="calls", choices=MODES)
    run(p.parse_args())


main()
