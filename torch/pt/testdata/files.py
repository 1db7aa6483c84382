"""Writes files of torch.save into a folder, or compares those of two folders.

    files.py write FOLDER     FOLDER/NAME.pt for each of the values below
    files.py compare A B      B holds what Go made of A: equal values, to the bit
"""
import collections, io, os, sys, types, zipfile

import torch

O = collections.OrderedDict
DTYPES = [getattr(torch, n) for n in """float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128
 complex32 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz uint16 uint32 uint64 bits8 bits16
 float8_e8m0fnu float4_e2m1fn_x2""".split()]


def raw(dtype, *shape):
    """A tensor with random bits, of no numbers that differ from themselves."""
    n = 1
    for s in shape:
        n *= s
    if dtype == torch.bool:
        return torch.rand(*shape) < 0.5
    if (dtype.is_floating_point or dtype.is_complex) and dtype not in DTYPES[-2:]:
        return torch.randn(*shape, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    item = torch.empty(0, dtype=dtype).element_size()
    return torch.randint(0, 256, (n * item,), dtype=torch.uint8).view(dtype).reshape(shape)


def tensors():
    for d in DTYPES:
        name = str(d)[6:]
        yield f"dtype {name}", raw(d, 3, 5)
        yield f"scalar {name}", raw(d, 1).reshape(())
        yield f"empty {name}", torch.empty(2, 0, 3, dtype=d)
    x = torch.arange(24.0).reshape(2, 3, 4)
    yield "transposed", x.transpose(0, 2)
    yield "slice", x[:, 1:, ::2]
    yield "expanded", torch.ones(1, 3).expand(4, 3)
    yield "channels last", torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    yield "shared", {"all": x, "row": x[1], "flat": x.view(-1), "again": x}
    yield "shared end", [x[1], x[1, 2:]]
    yield "conj", {"c": torch.randn(3, dtype=torch.complex64).conj(), "n": torch.randn(3, dtype=torch.complex64).conj().imag}
    yield "meta", torch.empty(3, 4, device="meta")
    yield "grad", torch.ones(3, requires_grad=True)
    yield "parameter", torch.nn.Parameter(torch.randn(2, 2))
    yield "frozen parameter", torch.nn.Parameter(torch.randn(2), requires_grad=False)
    p = torch.nn.Parameter(torch.ones(2))
    p.note = "mine"
    yield "parameter with state", p
    t = torch.ones(2)
    t.note = {"a": [1, 2]}
    yield "attributes", t
    yield "same parameter twice", [p, p]
    for d in torch.qint8, torch.quint8, torch.qint32:
        yield f"quantized {d}", torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 2, d)
        yield f"quantized channels {d}", torch.quantize_per_channel(torch.randn(3, 4), torch.rand(4) + 0.1, torch.tensor([0, 1, 2, 3]), 1, d)
    yield "quantized transposed", torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 2, torch.qint8).t()
    yield "quantized float channels", torch.quantize_per_channel(torch.randn(3, 4), torch.rand(3) + 0.1, torch.rand(3), 0, torch.quint8)
    s = torch.tensor([[0, 0, 3.0], [1, 0, 0]])
    yield "coo", s.to_sparse()
    yield "coo uncoalesced", torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    yield "coo hybrid", torch.sparse_coo_tensor([[0, 1]], torch.randn(2, 3), (4, 3))
    yield "coo empty", torch.zeros(2, 3).to_sparse()
    yield "csr", s.to_sparse_csr()
    yield "csc", s.to_sparse_csc()
    yield "bsr", torch.eye(4).to_sparse_bsr((2, 2))
    yield "bsc", torch.eye(4).to_sparse_bsc((2, 2))


def values():
    yield "none", None
    yield "numbers", [True, False, 0, -1, 255, 256, 65535, 65536, 2**31 - 1, -2**31, 2**31, 2**63 - 1, -2**63, 2**63, -2**63 - 1,
                      2**64, 2**70, -2**70, 1 << 2000, 0.0, -0.0, 1e300, float("inf"), -float("inf"), 1 + 2j]
    yield "texts", ["", "ä", "日本語", "\x00", "a\nb", "x" * 300, "\ud800", "😀"]
    yield "bytes", [b"", b"ab", bytes(range(256)), bytearray(b"xyz"), bytearray()]
    yield "containers", {"list": [1, [2, [3]]], "tuple": (1, (2,), ()), "set": {1, 2, 3}, "dict": {}, "empty": [[], (), set()]}
    yield "keys", {1: "a", (1, "b"): 2, None: 3, 2.5: 4, True and 7: 5, b"k": 6, torch.float32: 7, 2**80: 8}
    yield "ordered", O([("z", 1), ("a", 2), ("m", O())])
    yield "counter", collections.Counter("abracadabra")
    yield "torch", [torch.Size([1, 2]), torch.Size([]), torch.device("cpu"), torch.device("cuda", 1), torch.float16, torch.int64, torch.strided,
                    torch.sparse_coo]
    yield "many", {f"key {i}": i for i in range(3000)}
    yield "deep", __import__("functools").reduce(lambda v, _: [v], range(150), None)
    yield "long list", list(range(70000))
    x = [1, 2]
    yield "shared list", {"a": x, "b": x, "c": (x, x)}


def training():
    opts = dict(SGD=dict(lr=0.1, momentum=0.9), Adam=dict(amsgrad=True), AdamW={}, Adamax={}, NAdam={}, RAdam={}, Adagrad={}, Adadelta={}, RMSprop=dict(
        momentum=0.5, centered=True), Rprop={}, ASGD={}, LBFGS={}, Adafactor={}, Muon={}, SparseAdam={})
    for name, kw in opts.items():
        torch.manual_seed(1)
        model = torch.nn.Linear(3, 2, bias=name != "Muon")
        if name == "SparseAdam":
            model = torch.nn.Embedding(5, 3, sparse=True)
        opt = getattr(torch.optim, name)(model.parameters(), **kw)
        for _ in range(3):
            def closure():
                opt.zero_grad()
                x = torch.tensor([1, 2]) if name == "SparseAdam" else torch.ones(4, 3)
                loss = model(x).square().mean()
                loss.backward()
                return loss
            opt.step(closure)
        yield f"optimizer {name}", {"model": model.state_dict(), "optimizer": opt.state_dict(), "epoch": 3}
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(4, 2))
    yield "state dict", model.state_dict()
    yield "parameters", list(model.parameters())
    yield "swa", torch.optim.swa_utils.AveragedModel(model).state_dict()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    lr = torch.optim.lr_scheduler
    for s in [lr.StepLR(opt, 2), lr.CosineAnnealingLR(opt, 10), lr.OneCycleLR(opt, 1.0, 20), lr.ReduceLROnPlateau(opt)]:
        opt.step()
        s.step(*([1.0] if isinstance(s, lr.ReduceLROnPlateau) else []))
        yield f"schedule {type(s).__name__}", {k: v for k, v in s.state_dict().items() if not callable(v)}
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(1))
    yield "scaler", scaler.state_dict()
    yield "generator", torch.get_rng_state()
    tied = torch.nn.Module()
    tied.a, tied.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    tied.b.weight = tied.a.weight
    yield "tied", tied.state_dict()


def everything():
    yield from tensors()
    yield from values()
    yield from training()


def big(path, value):
    """The same file as a machine of the other byte order writes it."""
    b = io.BytesIO()
    torch.save(value, b)
    order = {}
    def visit(v):
        if isinstance(v, torch.Tensor):
            item = v.element_size() // (2 if v.dtype.is_complex else 1)
            order[len(order)] = item
        elif isinstance(v, dict):
            for x in v.values():
                visit(x)
    visit(value)
    with zipfile.ZipFile(b) as z, zipfile.ZipFile(path, "w") as out:
        for n in z.namelist():
            data = z.read(n)
            if n.endswith("/byteorder"):
                data = b"big"
            elif "/data/" in n:
                w = order[int(n.rsplit("/", 1)[1])]
                data = b"".join(data[i:i + w][::-1] for i in range(0, len(data), w))
            out.writestr(n, data)


def write(folder):
    torch.manual_seed(0)
    for name, v in everything():
        torch.save(v, f"{folder}/{name}.pt")
    sample = {n: v for n, v in training()}
    for protocol in 2, 3, 4, 5:
        torch.save([sample, dict(values())], f"{folder}/protocol {protocol}.pt", pickle_protocol=protocol)
        torch.save([sample, dict(values())], f"{folder}/legacy {protocol}.pt", pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    for name, v in tensors():
        if not (isinstance(v, torch.Tensor) and v.dtype in torch.storage._new_dtypes()):  # which Python writes and cannot read
            torch.save(v, f"{folder}/legacy {name}.pt", _use_new_zipfile_serialization=False)
    big(f"{folder}/big endian.pt", {str(d): raw(d, 3, 5) for d in DTYPES})


def same(a, b, at=""):
    def no(why):
        raise AssertionError(f"{at}: {why}: {a!r} became {b!r}"[:2000])
    if type(a) is not type(b):
        no("type")
    if isinstance(a, torch.Tensor):
        if (a.dtype, a.shape, a.layout, a.device, a.requires_grad) != (b.dtype, b.shape, b.layout, b.device, b.requires_grad):
            no("kind")
        same(getattr(a, "__dict__", {}), getattr(b, "__dict__", {}), at + ".__dict__")
        if a.device.type == "meta":
            return a.stride() == b.stride() or no("stride")
        if a.layout == torch.sparse_coo:
            if a.is_coalesced() != b.is_coalesced():
                no("coalesced")
            same(a._indices(), b._indices(), at + ".indices")
            return same(a._values(), b._values(), at + ".values")
        if a.layout != torch.strided:
            f = ["crow_indices", "col_indices"] if a.layout in (torch.sparse_csr, torch.sparse_bsr) else ["ccol_indices", "row_indices"]
            for n in f + ["values"]:
                same(getattr(a, n)(), getattr(b, n)(), f"{at}.{n}")
            return
        if (a.stride(), a.is_conj(), a.is_neg()) != (b.stride(), b.is_conj(), b.is_neg()) and a.numel():
            no("stride")
        if a.is_quantized:
            if a.qscheme() != b.qscheme():
                no("scheme")
            if a.qscheme() == torch.per_tensor_affine:
                same((a.q_scale(), a.q_zero_point()), (b.q_scale(), b.q_zero_point()), at + ".q")
            else:
                same((a.q_per_channel_scales(), a.q_per_channel_zero_points(), a.q_per_channel_axis()),
                     (b.q_per_channel_scales(), b.q_per_channel_zero_points(), b.q_per_channel_axis()), at + ".q")
            a, b = a.int_repr(), b.int_repr()
        if a.numel():
            a, b = (torch.empty(a.numel() * a.element_size(), dtype=torch.uint8).set_(t.detach().resolve_conj().resolve_neg().clone(
                memory_format=torch.contiguous_format).untyped_storage()) if t.dtype not in (torch.bits8, torch.bits16)
                else t.reshape(-1).view(torch.uint8) for t in (a, b))
            if not torch.equal(a, b):
                no("values")
    elif isinstance(a, dict):
        if list(a) != list(b):
            no("keys")
        same(getattr(a, "__dict__", None), getattr(b, "__dict__", None), at + ".__dict__")
        for k in a:
            same(a[k], b[k], f"{at}[{k!r}]")
    elif isinstance(a, (list, tuple)):
        if len(a) != len(b):
            no("length")
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{at}[{i}]")
    elif a != b or repr(a) != repr(b):
        no("value")


def storages(v, found):
    if isinstance(v, torch.Tensor):
        if v.layout == torch.strided and v.device.type == "cpu" and v.numel():
            found.append(v.untyped_storage().data_ptr())
    elif isinstance(v, dict):
        for x in v.values():
            storages(x, found)
    elif isinstance(v, (list, tuple)):
        for x in v:
            storages(x, found)
    return found


def compare(a, b):
    n = 0
    for f in sorted(os.listdir(a)):
        x, y = torch.load(f"{a}/{f}", map_location="cpu", weights_only=False), torch.load(f"{b}/{f}", weights_only=True)
        same(x, y, f)
        first, second = storages(x, []), storages(y, [])
        if [first.index(p) for p in first] != [second.index(p) for p in second]:
            raise AssertionError(f"{f}: memory is shared otherwise")
        if not f.startswith("protocol"):
            z = torch.load(f"{b}/{f}", weights_only=True, mmap=True)
            same(x, z, f + " mapped")
        n += 1
    print(n)


if __name__ == "__main__":
    {"write": write, "compare": compare}[sys.argv[1]](*sys.argv[2:])
