"""Records the operator calls that PyTorch's own test database makes, and what they give.

    python record.py DIR [--names REGEXP] [--samples N] [--dtypes D,D] [--device cpu|cuda] [--mode calls|errors]

Writes DIR/NNNN.safetensors for each entry of op_db and prints a line of JSON when it is
complete: {"name", "dtype", "file", ...}. The file's metadata has the cases; its tensors are storages,
as bytes. A case is one call of an operator with everything it takes. It is repeated here
from what the file says, with the seed set, so that whoever reads the file starts from the
same: the sample's tensors may share memory or a history, those of a case do not.
"""

import argparse
import contextlib
import inspect
import json
import os
import re
import warnings

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils._python_dispatch import TorchDispatchMode
from values import Chunk, Dumper, Loader, Unsupported, dump_tensor

SEED = 7


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
    return v.to(t.device, t.dtype).reshape(t.shape)


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
        if v.layout == torch.strided and v.device.type in ("cpu", "cuda") and not v.is_quantized:
            stride = list(v.stride())
            v = v.detach().resolve_conj().resolve_neg()
            d = {"dtype": str(v.dtype)[6:], "shape": list(v.shape), "stride": stride}
            d["storage"] = chunk.storage(v)
            if v.is_cuda:
                d["device"] = "cuda:0"
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


def dtypes_of(op, wanted, device):
    """The dtypes to record an entry in; "" is the first of PREFERRED that it has."""
    have = op.supported_dtypes(device)
    first = next((d for d in PREFERRED if d in have), None) or min(have, key=str, default=None)
    got = [getattr(torch, w) if w else first for w in wanted]
    return [d for d in dict.fromkeys(got) if d in have]


def samples(op, dtype, limit, device):
    torch.manual_seed(SEED)
    needs = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    it = iter(op.sample_inputs(device, dtype, requires_grad=needs))
    return [s for s, _ in zip(it, range(limit))] if limit else list(it)


def calls(op, dtype, limit, opts, chunk, seen):
    rec = Recorder(chunk, opts.inner, seen)
    count = 0
    for s in samples(op, dtype, limit, opts.device):
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
    if opts.device == "cuda":  # kernels that give the same bits each time, as TestCallsOnCUDA has them
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.deterministic = True
    seen = {}
    for i, (name, op) in enumerate(database(opts.names)):
        dtypes = dtypes_of(op, opts.dtypes.split(","), opts.device)
        if not dtypes:
            print(json.dumps({"name": name, "op": op.name, "failed": f"it has no such dtype on {opts.device}"}), flush=True)
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
    p.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    p.add_argument("--mode", default="calls", choices=MODES)
    run(p.parse_args())


if __name__ == "__main__":
    main()
