"""Every configuration of every module, from PyTorch's own module database and from extra.py: how it
is made, its state, its inputs, and what it returns and leaves as gradients and state.

The results are tensors by name and, as text in the tensor "spec", what refers to them.
"""

import collections
import inspect
import json
import os
import re
import sys

import torch
from torch import nn
from torch.testing._internal.common_modules import module_db

sys.path.insert(0, os.path.dirname(__file__))
import extra

torch.backends.mha.set_fastpath_enabled(False)  # it has other kernels than training has

# No part of what is compared: what is deprecated or no argument of users.
IGNORED = {"size_average", "reduce", "min_value", "max_value", "device", "dtype", "_weight", "_freeze"}


def main(_, only=""):
    arguments = {name: parameters(getattr(nn, name)) for name in nn.modules.__all__}
    record_arguments()
    w = Writer()
    cases = []
    for mode in ("train", "eval"):
        count = collections.Counter()
        for cls, inputs in entries(mode == "train"):
            for i in inputs if re.search(only, cls.__name__) else ():
                cases.append(w.case(cls, mode, count[cls], *i))
                count[cls] += 1
    spec = {"modules": sorted(set(nn.modules.__all__) | {"DataParallel"}), "arguments": arguments, "cases": cases}
    w.tensors["spec"] = torch.tensor(list(json.dumps(spec).encode()), dtype=torch.uint8)
    return w.tensors


def entries(training):
    """Classes with the arguments of their constructor and of a call."""
    for info in module_db:
        torch.manual_seed(7)
        dtype = torch.float64 if "Fractional" in info.name else torch.float32  # the database has random samples for it
        inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        yield info.module_cls, [(c.args, c.kwargs, f.args, f.kwargs) for c, f in ((i.constructor_input, i.forward_input) for i in inputs)]
    for name, inputs in extra.inputs().items():
        yield getattr(nn, name), inputs


def parameters(cls):
    """The names of the constructor's arguments."""
    skip = 1
    if issubclass(cls, nn.RNNBase):
        cls, skip = nn.RNNBase, 2  # its mode is the class
    names = list(inspect.signature(cls.__init__).parameters.items())[skip:]
    return [k for k, p in names if k not in IGNORED and p.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)]


def record_arguments():
    """Modules know how they were made."""
    for name in nn.modules.__all__:
        cls = getattr(nn, name)

        def make(self, *args, original=cls.__init__, cls=cls, **kwargs):
            if type(self) is cls:
                object.__setattr__(self, "made_of", (args, kwargs))
            original(self, *args, **kwargs)

        make.__signature__ = inspect.signature(cls.__init__)
        cls.__init__ = make


class Writer:
    """Cases as values of JSON, their tensors aside."""

    def __init__(self):
        self.tensors = {}

    def case(self, cls, mode, seed, args, kwargs, inputs, options):
        name = f"{cls.__name__}/{mode}/{seed}"
        self.name, self.leaves, self.copies = name, {}, {}
        case = {"class": cls.__name__, "name": name, "seed": seed, "make": self.arguments(cls, args, kwargs, cls.__init__)}
        m = cls(*args, **kwargs).train(mode == "train")
        case["text"] = str(m)
        inputs, options = self.own(inputs), self.own(options)
        case["call"] = self.arguments(cls, inputs, options, cls.forward)
        if isinstance(m, nn.modules.lazy.LazyModuleMixin):
            m(*inputs, **options)  # it has no parameters before
            for b in m.buffers():
                b.copy_(torch.rand(b.shape)) if b.is_floating_point() else b.zero_()
        case["parameters"] = [k for k, _ in m.named_parameters()]
        case["state"] = [self.tensor(f"state/{k}", v) for k, v in m.state_dict().items()]
        torch.manual_seed(seed)
        try:
            outputs = self.flat(m(*inputs, **options))
        except Exception as e:
            return case | {"error": str(e)}
        loss = sum((y * y).sum() for y in outputs if y.requires_grad)
        case["outputs"] = [self.tensor(f"output/{i}", y) for i, y in enumerate(outputs)]
        if torch.is_tensor(loss):
            loss.backward()
        case["gradients"] = {k: self.tensor(f"gradient/{k}", p.grad) for k, p in m.named_parameters() if p.grad is not None}
        case["inputs"] = {self.leaves[x]: self.tensor(f"grad of {self.leaves[x]}", x.grad) for x in self.leaves if x.grad is not None}
        case["later"] = str(m)
        case["final"] = [self.tensor(f"final/{k}", v) for k, v in m.state_dict().items()]
        return case

    def own(self, value):
        """Inputs are leaves; what was one tensor stays one."""
        if torch.is_tensor(value):
            if value not in self.copies:
                self.copies[value] = value.detach().clone().requires_grad_(value.requires_grad)
            return self.copies[value]
        if isinstance(value, dict):
            return {k: self.own(v) for k, v in value.items()}
        if isinstance(value, nn.utils.rnn.PackedSequence):
            return type(value)(*(self.own(v) for v in value))
        return type(value)(self.own(v) for v in value) if isinstance(value, (tuple, list)) else value

    def arguments(self, cls, args, kwargs, function):
        """The arguments by name, without those that are the default."""
        signature = inspect.signature(function)
        bound = signature.bind(None, *args, **kwargs).arguments
        named = {}
        for name, value in list(bound.items())[1:]:
            kind = signature.parameters[name].kind
            if kind == inspect.Parameter.VAR_KEYWORD:
                named |= value
            elif kind == inspect.Parameter.VAR_POSITIONAL and len(value) > 0 and name != "args":
                named[name] = value
            elif not (type(value) is type(signature.parameters[name].default) and value == signature.parameters[name].default):
                named[name] = value
        return {k: self.value(k, v) for k, v in named.items() if k not in IGNORED}

    def value(self, name, v):
        if torch.is_tensor(v):
            if v not in self.leaves:
                self.leaves[v] = self.tensor(f"argument/{len(self.leaves)} {name}", v)
            return {"tensor": self.leaves[v], "grad": v.requires_grad}
        if isinstance(v, nn.Module):
            args, kwargs = v.made_of
            return {"module": type(v).__name__, "make": self.arguments(type(v), args, kwargs, type(v).__init__)}
        if isinstance(v, nn.utils.rnn.PackedSequence):
            return {"packed": [self.value(f"{name} {i}", x) for i, x in enumerate(v)]}
        if isinstance(v, (tuple, list)):
            return [self.value(f"{name} {i}", x) for i, x in enumerate(v)]
        if isinstance(v, dict):
            return {"dict": {k: self.value(f"{name} {k}", x) for k, x in v.items()}}
        if callable(v):
            return {"function": v.__name__}
        return {"float": repr(v)} if isinstance(v, float) else v

    def tensor(self, name, t):
        key = f"{self.name}/{name}"
        self.tensors[key] = t.detach().clone()
        return key

    def flat(self, y):
        if torch.is_tensor(y):
            return [y]
        return [t for part in y if part is not None for t in self.flat(part)]
