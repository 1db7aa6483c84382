"""Steps optimizers over parameters and gradients of every layout; see layouts_test.go, which does the same in Go."""

import json

import torch

torch.sparse.check_sparse_tensor_invariants.disable()  # says that we know

STEPS = 10
FUSIBLE = ("SGD", "Adam", "AdamW", "Adagrad")


def main(inputs, cases):
    results = {}
    with open(cases) as f:
        for name in f.read().splitlines():
            for key, value in run(json.loads(name), inputs["values"]).items():
                results[f"{name}/{key}"] = value
    return results


def run(spec, values):
    step = -1
    try:
        case = Case(spec, values)
        for step in range(STEPS):
            case.step(step)
        return case.results()
    except Exception:  # noqa: BLE001
        return {"error": torch.tensor(step)}


def lay(x, how, p=None):
    """The values of x as a tensor that lies in memory in the way that the word says."""
    if how == "transposed":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if how == "channels_last":
        return x.contiguous(memory_format=torch.channels_last)
    if how == "narrow":
        return torch.cat([x, x], -1).narrow(-1, 0, x.shape[-1])
    if how == "spread":
        return torch.stack([x, x], -1).select(-1, 0)
    if how == "offset":
        return torch.cat([torch.zeros(3, dtype=x.dtype), x.reshape(-1)]).narrow(0, 3, x.numel()).view(x.shape)
    if how == "expanded":
        return x.narrow(0, 0, 1).expand(x.shape)
    if how == "overlapping":
        return x.reshape(-1).clone().as_strided(x.shape, [1] * x.dim())
    if how == "sparse":
        return x.abs().clamp_min(0.5).sub(0.5).to_sparse()
    if how == "uncoalesced":
        s = lay(x, "sparse")
        return torch.sparse_coo_tensor(torch.cat([s.indices(), s.indices()], 1), torch.cat([s.values(), s.values() * 0.3]), x.shape)
    if how == "conj":
        return x.clone().conj()
    if how == "neg":
        return torch._neg_view(x.clone())
    if how == "parameter":
        return p.detach()
    if how == "shifted":
        return p.detach().as_strided(p.shape, p.stride(), 2)
    return x.clone()


class Case:
    def __init__(self, spec, values):
        self.spec, self.values, self.at = spec, values, 0
        self.params = []
        for i in range(3):
            self.params.append(lay(self.draw(i), spec["param"] if i > 0 else "dense").requires_grad_())
        options = dict(spec["options"])
        if spec["kind"] in FUSIBLE:
            options |= {"foreach": False, "fused": False}
        make = getattr(torch.optim, spec["kind"])
        groups = [[p] for p in self.params] if spec["kind"] in FUSIBLE else [self.params]
        self.optimizers = [make(group, **options) for group in groups]

    def draw(self, i, shape=None, dtype=None):
        """The next values of the pool, in a shape and a dtype."""
        shape = self.spec["shape"] if shape is None else shape
        dtype = dtype or getattr(torch, self.spec["dtypes"][i])
        n = torch.Size(shape).numel()
        x = self.values.narrow(0, self.at, n).to(dtype).view(shape)
        if dtype.is_complex:
            x = torch.complex(x.real, self.values.narrow(0, self.at + 1, n).to(torch.float32).view(shape))
        self.at = (self.at + n) % 3000
        return x

    def results(self):
        results = {f"param {i}": dense(p) for i, p in enumerate(self.params)}
        if self.spec["kind"] == "LBFGS":
            return results
        for i, p in enumerate(self.params):
            for opt in self.optimizers:
                for key, value in opt.state.get(p, {}).items():
                    results[f"state {i} {key}"] = dense(value) if torch.is_tensor(value) else torch.tensor(value)
        return results

    def step(self, step):
        event, at = self.spec["event"], step == 3
        if event and at and event != "stale" and not event.startswith("grad "):
            for i, p in enumerate(self.params[1:], 1):
                p.grad = None
                if event == "shape":
                    p.data = self.draw(i, [3, 2])
                elif event == "double":
                    p.data = p.data.double()
                else:
                    p.data = lay(p.data, event)
        if self.spec["kind"] == "LBFGS":
            self.optimizers[0].step(lambda: self.set_gradients(step) or self.loss())
            return
        self.set_gradients(step)
        if event == "stale" and at:
            self.params[1].data = self.draw(1, [3, 2])
        self.choose()
        for opt in self.optimizers:
            opt.step()

    def loss(self):
        return self.draw(0).abs().sum()

    def set_gradients(self, step):
        how, event = self.spec["grad"], self.spec["event"]
        for i, p in enumerate(self.params):
            word = how if i > 0 else "sparse" if self.spec["kind"] == "SparseAdam" else "dense"
            if event == "grad late" and i > 0 and step < 2:
                continue
            if event and event.startswith("grad ") and i > 0 and event not in ("grad late", "grad dense") and step >= 3:
                word = event[5:]
            if event == "grad dense" and i > 0 and step % 2 == 1:
                word = "dense"
            p.grad = lay(self.draw(i, p.shape, p.dtype), word, p)

    def choose(self):
        """Has what lies in memory alike updated by the fused kernel, as our default does."""
        if self.spec["options"].get("fused") is not True:
            return
        for p, opt in zip(self.params, self.optimizers):
            state = [s for k, s in opt.state.get(p, {}).items() if k != "step" and s is not None]
            fused = alike(p, p.grad) and all(s.layout == torch.strided and s.dtype == p.dtype and s.shape == p.shape for s in state)
            opt.param_groups[0]["fused"] = fused
            if fused:
                for s in state:
                    s.data = torch.empty_like(p).copy_(s)


def alike(p, g):
    if g is None or g.layout != torch.strided or p.is_complex() or p.dtype != g.dtype or p.shape != g.shape or g.is_neg():
        return False
    dense = torch.ops.aten.is_non_overlapping_and_dense.default
    shared = p.untyped_storage().data_ptr() == g.untyped_storage().data_ptr() and p.numel() > 0
    return dense(p.detach()) and dense(g) and not shared and all(a == b for n, a, b in zip(p.shape, p.stride(), g.stride()) if n > 1)


def dense(x):
    x = x.detach()
    return (x.to_dense() if x.layout != torch.strided else x).resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
