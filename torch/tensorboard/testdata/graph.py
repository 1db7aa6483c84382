"""Exports programs, and compares the graph that a Go program wrote of each with what Python knows of the program.

Questions and answers are lines of JSON: {"write": folder} exports, {"read": folder of the programs, "events": folder of a run for each}.
"""

import json
import os
import sys
import warnings

import torch
from tensorboard.backend import process_graph
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.graph.graph_util import merge_graph_defs
from torch import nn
from torch.utils.tensorboard._pytorch_graph import graph as traced


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv = nn.Conv2d(n, n, 3, padding=1)
        self.norm = nn.BatchNorm2d(n)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), Block(4), Block(4))
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("offset", torch.ones(3))
        self.register_buffer("unused", torch.ones(3))

    def forward(self, x, lengths):
        values, places = (self.fc(x) * self.scale).max(1)
        y = torch.cond(values.sum() > 0, lambda a, b: (a.sin() + b, a * 2), lambda a, b: (a + 1, a - b), (x, self.offset))
        halves = x.chunk(3, 1)
        return {"y": y, "halves": torch.cat(halves), "places": places, "all": [torch.stack([lengths, lengths]), values]}


def programs():
    batch = torch.export.Dim("batch", min=2, max=64)
    yield "net", Net().eval(), (torch.rand(2, 3, 8, 8),), {}
    yield "branches", Branches().eval(), (torch.rand(4, 3), torch.arange(5)), {"dynamic_shapes": ({0: batch}, None)}


def write(folder):
    for name, model, args, options in programs():
        torch.export.save(torch.export.export(model, args, **options), os.path.join(folder, name + ".pt2"))


def shape(value):
    if not isinstance(value, torch.Tensor):
        return None
    return [n if isinstance(n, int) else -1 for n in value.shape]


class Walk:
    """The nodes that a program should have: by name, what they are, what they read and the shapes of their results."""

    def __init__(self, program):
        self.nodes = {}
        state = {spec.arg.name: spec for spec in program.graph_signature.input_specs if spec.target}
        boxes = {}
        for node in program.graph.nodes:
            self.box(node, boxes)
        known = {}
        for node in program.graph.nodes:
            if node.op != "placeholder" or not node.users:
                continue
            spec = state.get(node.name)
            if spec is None:
                known[node.name] = self.add("input/" + node.name, "IO Node", [], [shape(node.meta["val"])])
                continue
            owner, _, last = spec.target.rpartition(".")
            kind = {"PARAMETER": "Parameter", "BUFFER": "Buffer", "CONSTANT_TENSOR": "Constant Tensor"}[spec.kind.name]
            known[node.name] = self.add(boxes[owner] + "/" + last, kind, [], [shape(node.meta["val"])])
        results = self.graph(program.graph_module, known, lambda node: self.box(node, boxes))
        for i, (at, value) in enumerate(results):
            self.add(f"output/output.{i + 1}", "IO Node", [at], [value])

    @staticmethod
    def box(node, boxes):
        scope = ""
        for path, kind in node.meta.get("nn_module_stack", {}).values():
            kind = (kind if isinstance(kind, str) else kind.__qualname__).rpartition(".")[2]
            scope = scope + "/" + f"{kind}[{path.rpartition('.')[2]}]" if path else kind
            boxes[path] = scope
        return scope

    def add(self, name, op, inputs, shapes):
        assert name not in self.nodes, name
        self.nodes[name] = [op, inputs, shapes]
        return name

    def graph(self, module, known, scope):
        for node in module.graph.nodes:
            if node.op == "output":
                return [(known[a.name], shape(a.meta["val"])) for a in node.args[0]]
            if node.op != "call_function":
                continue
            if node.target.__name__ == "getitem":
                known[node.name] = known[node.args[0].name] + (f":{node.args[1]}" if node.args[1] else "")
                continue
            results = node.meta["val"]
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            inputs = []
            torch.fx.node.map_arg((node.args, node.kwargs), lambda a: a.op == "get_attr" or inputs.append(known[a.name]))
            name = "/".join(part for part in (scope(node), node.name) if part)
            known[node.name] = self.add(name, self.operator(node.target), inputs, [shape(v) for v in results])
            if "higher_order" in str(node.target.namespace if hasattr(node.target, "namespace") else ""):
                for a in node.args:
                    if isinstance(a, torch.fx.Node) and a.op == "get_attr":
                        inputs.extend(self.branch(module, a.target, name, [known[v.name] for v in node.args[-1]]))

    def branch(self, module, target, name, operands):
        sub = getattr(module, target)
        box = f"{name}/{target}"
        given = [n for n in sub.graph.nodes if n.op == "placeholder"]
        own = {n.name: self.add(f"{box}/input/{n.name}", "IO Node", [at], [shape(n.meta["val"])]) for n, at in zip(given, operands)}
        return [at for at, _ in self.graph(sub, own, lambda _: box)]

    @staticmethod
    def operator(target):
        if isinstance(target, torch._ops.OpOverload):
            return target._schema.name
        if isinstance(target, torch._ops.HigherOrderOperator):
            return "higher_order::" + target.__name__
        return f"_operator.{target.__name__}"


def found(folder):
    events = EventAccumulator(folder)
    events.Reload()
    assert events.Tags()["graph"] and events.Tags()["run_metadata"] == ["step1"], events.Tags()
    assert events.RunMetadata("step1").step_stats.dev_stats[0].device == "/device:CPU:0"
    graph = events.Graph()
    assert isinstance(graph, GraphDef) and graph.versions.producer == 22
    process_graph.prepare_graph_for_ui(graph, limit_attr_size=1024, large_attrs_key="_too_large_attrs")
    merge_graph_defs([graph])  # which refuses names that occur twice
    return graph


def shapes(node):
    return [None if s.unknown_rank else [d.size for d in s.dim] for s in node.attr["_output_shapes"].list.shape]


def read(programs, runs):
    for name in sorted(os.listdir(runs)):
        graph = found(os.path.join(runs, name))
        program = torch.export.load(os.path.join(programs, name + ".pt2"))
        got = {n.name: [n.op, list(n.input), shapes(n)] for n in graph.node}
        want = Walk(program).nodes
        for key in sorted(want.keys() | got.keys()):
            assert got.get(key) == want.get(key), f"{name}: {key}\nGo     {got.get(key)}\nPython {want.get(key)}"
        for n in graph.node:
            for at in n.input:
                assert at.partition(":")[0] in got, f"{name}: {n.name} reads {at}, which is nowhere"
    return len(os.listdir(runs))


def boxes(runs):
    """The boxes with operators in them, of Net as Go drew it and as SummaryWriter.add_graph does."""
    inside = lambda graph: {n.name.rpartition("/")[0] for n in graph.node if n.op.startswith("aten::")}
    got = inside(found(os.path.join(runs, "net")))
    want = inside(traced(Net(), torch.rand(2, 3, 8, 8))[0])
    assert got == want, f"Go     {sorted(got)}\nPython {sorted(want)}"
    return len(got)


def plain(run):
    return [f"{n.name} {n.op} {list(n.input)} {shapes(n)} {n.attr['attr'].s.decode()}" for n in found(run).node]


warnings.simplefilter("ignore")
for line in sys.stdin:
    ask = json.loads(line)
    try:
        value = {"write": write, "read": read, "boxes": boxes, "plain": plain}[ask["do"]](*ask["args"])
        print(json.dumps({"value": value}), flush=True)
    except Exception as e:
        print(json.dumps({"error": f"{type(e).__name__}: {e}"}), flush=True)
