"""One operator at a time on tensors of a few elements: what a call costs."""

import torch

from tensors import digest

STATEMENTS = {
    "add": "x.add(y)",
    "add_": "z.add_(y)",
    "view": "v.view(2, 2)",
    "mm 4x4": "a.mm(b)",
    "empty": "empty(1)",
    "add scalar": "x.add(2.5)",
    "relu": "x.relu()",
    "sum": "a.sum()",
    "add, recorded": "w.add(y)",
}


class Case:
    def __init__(self, statement):
        grid = torch.arange(16, dtype=torch.float32).reshape(4, 4)
        names = {
            "x": torch.tensor([1.5]),
            "y": torch.tensor([2.25]),
            "z": torch.tensor([0.5]),
            "v": torch.arange(4, dtype=torch.float32),
            "a": grid,
            "b": grid / 8,
            "w": torch.tensor([3.5], requires_grad=True),
            "empty": torch.empty,
        }
        # As timeit does it: the statement itself in a loop, its names local.
        source = f"def run(n, {', '.join(names)}):\n    for _ in range(n):\n        {statement}\n"
        space = {}
        exec(source, space)
        self.once = lambda: eval(statement, dict(names))
        self.run = lambda n: space["run"](n, **names)
        self.uninitialised = "empty" in statement

    def check(self):
        result = self.once()
        return digest([torch.zeros_like(result) if self.uninitialised else result])


class Chain:
    """One addition behind the other."""

    def __init__(self):
        self.x = torch.full((4,), 0.5)

    def once(self):
        x = y = self.x
        for _ in range(64):
            y = y.add(x)
        return y

    def run(self, n):
        with torch.inference_mode():
            for _ in range(n):
                self.once()

    def check(self):
        return digest([self.once()])


CASES = {"64 additions, compiled": lambda file: Chain()}
CASES |= {name: (lambda file, s=statement: Case(s)) for name, statement in STATEMENTS.items()}
