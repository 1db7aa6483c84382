"""What Python's profiler makes of the same: each function answers one question."""
import json
import sys
import warnings

import torch
import torch.profiler as profiler
from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEvent

warnings.simplefilter("ignore")


def workload(shapes):
    """The rows that counts, shapes, FLOPs and bytes are compared of."""
    make = {name: torch.arange(torch.Size(s).numel(), dtype=torch.float32).reshape(s) for name, s in shapes.items()}
    for name in ("kernel", "weight", "bias"):
        make[name].requires_grad_(True)
    target = torch.tensor([1, 0])

    def forward():
        with profiler.record_function("features"):
            x = torch.nn.functional.conv2d(make["x"], make["kernel"], None, [1, 1], [1, 1])
            x = torch.relu(x)
            x = torch.nn.functional.max_pool2d(x, [2, 2])
        with profiler.record_function("head"):
            y = torch.nn.functional.linear(x.flatten(1), make["weight"], make["bias"])
            return torch.nn.functional.nll_loss(y.log_softmax(1), target)

    def step():
        with profiler.record_function("forward"):
            loss = forward()
        with profiler.record_function("backward"):
            loss.backward(make["one"])
        torch.cat([make["x"], make["x"]], 1)
        torch.bmm(make["batch"], make["batch"].transpose(1, 2))
        make["x"].add(make["x"]).mul(make["x"])

    step()  # the memory of gradients is there before
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_flops=True
    ) as p:
        step()
    rows = {}
    for byshapes in (False, True):
        rows["shapes" if byshapes else "names"] = [
            {
                "name": a.key,
                "count": a.count,
                "shapes": str(a.input_shapes) if byshapes else "",
                "flops": a.flops,
                "memory": a.cpu_memory_usage,
                "own": a.self_cpu_memory_usage,
            }
            for a in p.key_averages(group_by_input_shape=byshapes)
        ]
    return rows


def table(request):
    """The tables of given events, one for each set of options."""
    device = "cuda" if request["cuda"] else None
    events = EventList(use_device=device, profile_memory=True, with_flops=True)
    for e in request["events"]:
        f = FunctionEvent(
            id=0,
            name=e["name"],
            thread=e["thread"],
            start_us=e["start"] / 1000,
            end_us=e["end"] / 1000,
            use_device=device,
            input_shapes=e["shapes"] or [],
            stack=[],
            flops=e["flops"],
            cpu_memory_usage=e["memory"],
            device_memory_usage=e["device_memory"],
            device_type=DeviceType.CUDA if e["on_card"] else DeviceType.CPU,
            is_async=e["async"],
            is_user_annotation=e["range"],
        )
        for k in e["kernels"] or []:
            f.append_kernel("k", 0, k / 1000)
        events.append(f)
    events._build_tree()
    return [
        events.key_averages(group_by_input_shapes=o.pop("by_shapes", False)).table(**o) for o in request["tables"]
    ]


def schedule(request):
    """The phases of 40 steps."""
    return [[profiler.schedule(**r)(i).value for i in range(40)] for r in request]


json.dump({question: globals()[question](request) for question, request in json.load(sys.stdin).items()}, sys.stdout)
