"""torchvision's networks, to compare with: keys and shapes of all, initial values, results and gradients of some."""

import hashlib
import warnings

import torch
import torchvision
from torch.nn import functional as F

warnings.filterwarnings("ignore", message="The default weight initialization")
CLASSES = 11


def main(inputs, task, *args):
    return {"keys": keys, "bits": bits}[task](*args)


def text(s):
    return torch.frombuffer(bytearray(s.encode()), dtype=torch.uint8)


def keys():
    """The lines of each network's state dict: name, type, shape and, of parameters, an asterisk."""
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda t, *args, **kwargs: t)  # nobody looks at the values
    results = {}
    for name in torchvision.models.list_models(module=torchvision.models):
        model = torchvision.models.get_model(name)
        trained = {key for key, _ in model.named_parameters()}
        results[name] = text("".join(
            f"{key} {str(t.dtype)[6:]} {list(t.shape)}{' *' if key in trained else ''}\n" for key, t in model.state_dict().items()))
    return results


def digest(t):
    t = t.detach().contiguous()
    return torch.frombuffer(bytearray(hashlib.sha256(t.numpy()).digest()), dtype=torch.uint8)


def disturb(model):
    """Adds noise to all state, because a zero or a one hides mistakes."""
    torch.manual_seed(9)
    for key, t in model.state_dict().items():
        if t.is_floating_point():
            noise = torch.randn(t.shape)
            t.add_(noise.abs() if key.endswith("running_var") else noise, alpha=0.02)


def step(model, x):
    """The scores of all classifiers, and gradients of the parameters."""
    outputs = model(x)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    sum(F.cross_entropy(y, torch.arange(len(y))) for y in outputs).backward()
    results = {f"scores {i}": y.detach() for i, y in enumerate(outputs)}
    for key, p in model.named_parameters():
        if p.grad is not None:  # as it is of auxiliary classifiers in evaluation
            results["grad " + key] = digest(p.grad)
            p.grad = None
    return results


def bits(*specs):
    return {f"{spec}: {key}": t for spec in specs for key, t in bits_of(*spec.split()).items()}


def bits_of(name, *sizes):
    results = {}

    def keep(prefix, tensors):
        results.update({f"{prefix} {key}": t for key, t in tensors.items()})

    torch.manual_seed(3)
    options = {"image_size": int(sizes[0].split("x")[0])} if name.startswith("vit") else {}
    model = torchvision.models.get_model(name, num_classes=CLASSES, **options)
    keep("initial", {key: digest(t) for key, t in model.state_dict().items()})
    disturb(model)
    for n, size in enumerate(sizes):
        torch.manual_seed(20 + n)
        x = torch.randn(2, 3, *map(int, size.split("x")))
        if n == 1:
            x = x.to(memory_format=torch.channels_last)
        keep(f"train {n}", step(model.train(), x))
        model.eval()
        with torch.no_grad():
            keep(f"eval {n}", {"scores": model(x)})
        if n == 0:
            keep("eval, recorded", step(model, x))
    keep("final", {key: digest(t) for key, t in model.state_dict().items()})
    return results
