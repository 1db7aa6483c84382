"""Writes modules of TorchScript with calls and their results, and compares what Go made of them.

    modules.py write DIR    DIR/NAME.pt and DIR/NAME.calls for each module
    modules.py check DIR    DIR/NAME.go, which Go saved, against DIR/NAME.calls
"""

import enum
import os
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import nn

torch.set_num_threads(1)


class Pair(NamedTuple):
    first: torch.Tensor
    second: int


class Flow(nn.Module):
    def forward(self, x: torch.Tensor, steps: int = 3) -> torch.Tensor:
        while steps > 0:
            if bool(x.sum() > 0):
                x = x * 1.5 - 1
            else:
                x = torch.sin(x) + float(steps)
            steps -= 1
        for i in range(x.size(0)):
            x[i] = x[i] + i
        return x


class Values(nn.Module):
    def forward(self, x: torch.Tensor, how: Dict[str, torch.Tensor], more: List[torch.Tensor],
                pair: Tuple[int, float]) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
        for t in more:
            x = x + t
        out = {"sum": x, "scaled": x * pair[0] + pair[1]}
        for k, v in how.items():
            out[k] = v.neg()
        return x, out

    @torch.jit.export
    def numbers(self, i: int, f: float, b: bool, s: str) -> Tuple[int, float, bool, str]:
        return i + 1, f * 2, not b, s + "!é"

    @torch.jit.export
    def lists(self, i: List[int], f: List[float], b: List[bool], s: List[str]) -> Tuple[List[int], List[float], List[bool], List[str]]:
        i.append(7)
        return i, [v * 2 for v in f], [not v for v in b], [v.upper() for v in s]

    @torch.jit.export
    def nested(self, d: Dict[str, List[int]], l: List[List[float]]) -> Tuple[Dict[int, List[float]], List[Dict[str, int]]]:
        out: Dict[int, List[float]] = {}
        for i, own in enumerate(l):
            out[i] = own
        counts: List[Dict[str, int]] = []
        for k, v in d.items():
            counts.append({k: len(v)})
        return out, counts

    @torch.jit.export
    def keys(self, i: Dict[int, torch.Tensor], f: Dict[float, str], b: Dict[bool, float]) -> Tuple[Dict[int, int], Dict[float, str], Dict[bool, float]]:
        n: Dict[int, int] = {}
        for k, v in i.items():
            n[k] = v.numel()
        return n, f, b

    @torch.jit.export
    def perhaps(self, x: Optional[torch.Tensor], n: Optional[int] = None, l: Optional[List[int]] = None) -> Tuple[Optional[torch.Tensor], Optional[int], int]:
        return x, n, -1 if l is None else len(l)

    @torch.jit.export
    def named(self, x: torch.Tensor, p: Pair) -> Pair:
        return Pair(x + p.first, p.second + 1)

    @torch.jit.export
    def complex_number(self, z: complex) -> complex:
        return z * 2

    @torch.jit.export
    def where(self, x: torch.Tensor, d: torch.device) -> torch.device:
        return x.to(d).device

    @torch.jit.export
    def as_type(self, x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return x.to(dtype)

    @torch.jit.export
    def nothing(self, x: torch.Tensor) -> None:
        return None

    @torch.jit.export
    def empty(self) -> Tuple[List[int], List[torch.Tensor], Dict[str, float], List[str]]:
        a: List[int] = []
        b: List[torch.Tensor] = []
        c: Dict[str, float] = {}
        d: List[str] = []
        return a, b, c, d

    @torch.jit.export
    def keyword(self, x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        return x * scale


class Inner(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, n))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.scale = 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm(x, self.weight) * self.scale


class Outer(nn.Module):
    names: List[str]
    table: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Inner(4), Inner(4)])
        self.last = nn.Linear(4, 2)
        self.drop = nn.Dropout(0.5)
        self.names = ["a", "b"]
        self.table = {"one": 1}
        self.steps = 2
        self.rate = 0.25
        self.title = "outer"
        self.on = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        if self.on:
            x = x + self.rate * self.steps
        return self.drop(self.last(x))


class Counter(nn.Module):
    total: int

    def __init__(self):
        super().__init__()
        self.total = 0
        self.register_buffer("sum", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += 1
        self.sum = self.sum + x
        return self.sum * self.total


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(12, 3)

    def forward(self, x: torch.Tensor, state: Optional[Tuple[torch.Tensor, torch.Tensor]] = None):
        y, state = self.lstm(x, state)
        return self.out(y), state


class Block(nn.Module):
    def __init__(self, n, m, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m)
        self.conv2, self.bn2 = nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m)
        self.short = nn.Sequential() if n == m and stride == 1 else nn.Sequential(nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 16, 1))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(torch.flatten(nn.functional.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1), 1))


class Raises(nn.Module):
    def forward(self, x: torch.Tensor, how: int) -> torch.Tensor:
        if how == 0:
            raise ValueError("the value is wrong")
        if how == 1:
            raise IndexError("beyond the end")
        if how == 2:
            return torch.mm(x, torch.ones(7, 7))
        if how == 3:
            assert x.size(0) == 99, "the size is wrong"
        if how == 4:
            l = [1, 2]
            return x * l[5]
        return x


@torch.jit.script
class Box:
    def __init__(self, x: torch.Tensor):
        self.x = x


class Objects(nn.Module):
    def forward(self, x: torch.Tensor) -> Box:
        return Box(x)

    @torch.jit.export
    def own(self, n: int) -> List[Any]:
        l: List[Any] = [n]
        l.append(l)
        return l

    @torch.jit.export
    def tensors(self, x: torch.Tensor) -> Dict[torch.Tensor, int]:
        return {x: 1}

    @torch.jit.export
    def anything(self, v: Any) -> Any:
        return v


class Forked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.jit.fork(torch.sin, x)
        return torch.jit.wait(a) + torch.cos(x)


class Custom(nn.Module):
    """The state of a module that packs itself."""

    def __init__(self):
        super().__init__()
        self.w = torch.arange(4.0)

    @torch.jit.export
    def __getstate__(self) -> Tuple[torch.Tensor, bool]:
        return self.w * 2, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, bool]) -> None:
        self.w = state[0] / 2
        self.training = state[1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.w


def calls_of(name):
    torch.manual_seed(3)
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    return {
        "traced": [("forward", (torch.randn(5, 4),), {})],
        "flow": [("forward", (x,), {}), ("forward", (-x, 5), {}), ("forward", (x,), {"steps": 1})],
        "values": [
            ("forward", (x, {"b": y, "a": x}, [x, y], (2, 0.5)), {}),
            ("numbers", (3, 1.5, True, "grün"), {}),
            ("numbers", (3, 2, False, ""), {}),
            ("lists", ([1, 2], [0.5], [True, False], ["x", "yz"]), {}),
            ("nested", ({"a": [1, 2], "b": []}, [[1.0, 2.0], []]), {}),
            ("keys", ({2: x, 1: y}, {0.5: "half"}, {True: 1.0, False: 0.0}), {}),
            ("perhaps", (None,), {}),
            ("perhaps", (x, 3, [1]), {}),
            ("named", (x, (y, 4)), {}),
            ("complex_number", (1 + 2j,), {}),
            ("nothing", (x,), {}),
            ("empty", (), {}),
            ("keyword", (x,), {"scale": 0.125}),
            ("keyword", (x,), {}),
        ],
        "outer": [("forward", (x,), {})],
        "counter": [("forward", (torch.ones(2),), {}), ("forward", (torch.ones(2),), {})],
        "lstm": [("forward", (torch.randn(2, 7, 5),), {}), ("forward", (torch.randn(2, 3, 5), (torch.randn(4, 2, 6), torch.randn(4, 2, 6))), {})],
        "resnet": [("forward", (torch.randn(2, 3, 16, 16),), {})],
        "resnet_traced": [("forward", (torch.randn(2, 3, 16, 16),), {})],
        "frozen": [("forward", (torch.randn(2, 3, 16, 16),), {})],
        "bf16": [("forward", (torch.randn(2, 3, 16, 16).bfloat16(),), {})],
        "forked": [("forward", (x,), {})],
        "custom": [("forward", (torch.ones(4),), {})],
        "raises": [],
        "objects": [],
    }[name]


def modules():
    torch.manual_seed(5)
    resnet = ResNet().eval()
    with torch.no_grad():
        for m in resnet.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_()
                m.running_var.uniform_(0.5, 2)
    mlp = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    return {
        "traced": torch.jit.trace(mlp, torch.randn(2, 4)),
        "flow": torch.jit.script(Flow()),
        "values": torch.jit.script(Values()),
        "outer": torch.jit.script(Outer().eval()),
        "counter": torch.jit.script(Counter()),
        "lstm": torch.jit.script(Recurrent().eval()),
        "resnet": torch.jit.script(resnet),
        "resnet_traced": torch.jit.trace(resnet, torch.randn(1, 3, 16, 16)),
        "frozen": torch.jit.freeze(torch.jit.script(resnet)),
        "bf16": torch.jit.script(ResNet().eval().bfloat16()),
        "forked": torch.jit.script(Forked()),
        "custom": torch.jit.script(Custom()),
        "raises": torch.jit.script(Raises()),
        "objects": torch.jit.script(Objects()),
    }


def plain(v):
    if isinstance(v, tuple):
        return tuple(plain(x) for x in v)
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    return v.detach() if isinstance(v, torch.Tensor) else v


def results(m, name):
    out = []
    for method, args, kwargs in calls_of(name):
        import copy
        own = copy.deepcopy((args, kwargs))
        out.append([method, plain(args), kwargs, plain(getattr(m, method)(*own[0], **own[1]))])
    return out


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def write(folder):
    for name, m in modules().items():
        path = os.path.join(folder, name)
        torch.jit.save(m, path + ".pt", _extra_files={"note.txt": "of " + name})
        loaded = torch.jit.load(path + ".pt")
        torch.save(results(loaded, name), path + ".calls")
        torch.save({k: v.detach() for k, v in loaded.state_dict().items()}, path + ".state")
        del loaded
    m = torch.jit.load(os.path.join(folder, "outer.pt"))
    x = torch.randn(3, 4)
    m(x).sum().backward()
    torch.save({"x": x, **{k: p.grad for k, p in m.named_parameters()}}, os.path.join(folder, "outer.grads"))
    x = torch.randn(2, 3, 16, 16)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        y = torch.jit.load(os.path.join(folder, "resnet.pt"))(x)
    torch.save({"x": x, "y": y}, os.path.join(folder, "resnet.autocast"))


def check(folder):
    for name in modules():
        path = os.path.join(folder, name)
        extra = {"go.txt": ""}
        m = torch.jit.load(path + ".go", _extra_files=extra)
        assert extra["go.txt"] == b"from Go", extra
        want = torch.load(path + ".calls", weights_only=False)
        got = results(m, name)
        assert same(want, got), name
        state = torch.load(path + ".state")
        assert list(state) == list(m.state_dict()), name
    print("checked", len(modules()))


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
