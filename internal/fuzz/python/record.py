"""Writes the operator calls that PyTorch's own test database makes as cases of the fuzzer,
one a line, in the order of their operators.

    python record.py PARITY [--samples N] [--inner N]

PARITY is the folder of internal/parity/python, whose modes see the calls. A tensor becomes
its dtype, its shape and a word for its elements: case.go has the language.
"""

import argparse
import json
import sys
import warnings

import torch

ORDINARY = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128)
WORDS = {torch.sparse_coo: "coo", torch.sparse_csr: "csr", torch.sparse_csc: "csc", torch.sparse_bsr: "bsr", torch.sparse_bsc: "bsc"}
MOST = 4096  # elements: larger samples say no more


class Unsupported(Exception):
    pass


def elements(t):
    """The word for the elements of a tensor."""
    if t.layout != torch.strided or t.numel() == 0 or t.device.type != "cpu" or t.is_quantized:
        return ""
    if t.dtype not in ORDINARY:
        if t.numel() <= 24:
            return "{" + ",".join(str(int(v)) for v in t.flatten().tolist()) + "}"
        return f":i{int(t.max()) + 1}" if t.min() >= 0 else ""
    r = torch.view_as_real(t.resolve_conj()) if t.is_complex() else t
    r = r.double()
    if not torch.isfinite(r).all():
        return ":mix"
    if (r == 0).all():
        return ":z"
    if (r == 1).all():
        return ":o"
    if t.dim() >= 2 and t.shape[-1] == t.shape[-2] and t.shape[-1] > 1:
        m = t.double() if not t.is_complex() else t.to(torch.complex128)
        if torch.allclose(m, m.mH) and bool((torch.linalg.cholesky_ex(m)[1] == 0).all()):
            return ":spd"
    if (r > 0).all():
        return ":p" if (r < 1).all() else ":q"
    return ""


def tensor(t):
    if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.is_quantized or t.numel() > MOST or t.is_nested:
        raise Unsupported
    grad, t = t.requires_grad, t.detach()
    text = str(t.dtype)[6:] + "[" + ",".join(map(str, t.shape)) + "]"
    if t.device.type == "meta":
        return text + "+meta"
    if t.layout != torch.strided:
        return text + "+" + WORDS[t.layout] + "+grad" * grad
    flags = "+conj" * t.is_conj() + "+neg" * t.is_neg()
    plain = t.resolve_conj().resolve_neg()
    if plain._is_zerotensor():
        return text + "+zero"
    text += elements(plain)
    if t.numel() > 0 and not t.is_contiguous():
        if any(n > 1 and s == 0 for n, s in zip(t.shape, t.stride())):
            text += "+expand"
        elif t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last):
            text += "+cl"
        else:
            text += "+t" if t.dim() > 1 else "+step"
    return text + flags + "+grad" * grad


def value(v):
    match v:
        case None:
            return "nil"
        case torch.Tensor():
            return tensor(v)
        case bool():
            return "true" if v else "false"
        case int():
            return str(v)
        case float():
            return number(v)
        case complex():
            return f"c({number(v.real)},{number(v.imag)})"
        case str():
            return json.dumps(v)
        case torch.dtype():
            return "dtype:" + str(v)[6:]
        case torch.device():
            return "device:" + v.type
        case torch.layout():
            return "layout:" + str(v)[6:].lstrip("_")
        case torch.memory_format():
            return "format:" + str(v)[6:]
        case torch.Generator():
            return "gen:7"
        case list() | tuple():
            return "(" + ",".join(value(x) for x in v) + ")"
    raise Unsupported


def number(v):
    text = repr(v)
    return text if any(c in text for c in ".ein") else text + ".0"


class Keeper:
    """Takes the calls that the modes show."""

    def __init__(self, most):
        self.lines, self.count, self.most = set(), {}, most

    def __call__(self, func, args, kwargs):
        schema = func._schema
        name = schema.name.removeprefix("aten::") + ("." + schema.overload_name if schema.overload_name else "")
        if not schema.name.startswith("aten::") or self.count.get(name, 0) >= self.most:
            return lambda: None
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            try:
                named = dict(zip((a.name for a in schema.arguments), args)) | kwargs
                line = " ".join([name] + [f"{k}={value(v)}" for k, v in named.items()])
            except (Unsupported, KeyError, RuntimeError, NotImplementedError):
                return lambda: None
        if line not in self.lines:
            self.lines.add(line)
            self.count[name] = self.count.get(name, 0) + 1
        return lambda: None


def run(opts):
    sys.path.insert(0, opts.parity)
    from record import Above, Below, database, dtypes_of, samples, seeds, tensors_in

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    above, below = Keeper(opts.calls), Keeper(opts.inner)
    for _, op in database(""):
        for d in dtypes_of(op, ["", "complex64", "int64"], "cpu"):
            try:
                inputs = samples(op, d, opts.samples, "cpu")
            except Exception:
                continue
            for s in inputs:
                try:
                    torch.manual_seed(7)
                    with Above(above):
                        op(s.input, *s.args, **s.kwargs)
                    with Below(below):
                        out = op(s.input, *s.args, **s.kwargs)
                        roots = [t for t in tensors_in(out) if t.requires_grad]
                        if roots:
                            torch.autograd.backward(roots, [seeds(t) for t in roots])
                except Exception:
                    continue  # some have no gradient in some dtypes
    for line in sorted(above.lines | below.lines):
        print(line)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("parity")
    p.add_argument("--samples", type=int, default=12, help="of each entry and dtype")
    p.add_argument("--calls", type=int, default=24, help="of each operator that samples make")
    p.add_argument("--inner", type=int, default=8, help="of each operator that others make")
    run(p.parse_args())


if __name__ == "__main__":
    main()
