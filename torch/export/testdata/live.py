"""Obeys commands, a line each: a list in JSON of a script here, one of its functions, and the arguments.

The function is a generator; each value that it yields becomes a line {"answer": value}, and {} ends a command, or {"error": text}.
"""

import gc
import importlib
import json
import logging
import os
import sys
import traceback

os.environ["TORCH_FAKE_TENSOR_DISPATCH_CACHE"] = "0"  # small programs come to its end before it pays

import torch  # noqa: E402

MANY = 50_000  # objects since the last collection


def main():
    torch.set_num_threads(1)
    gc.disable()  # in the midst of exporting: a generator under no_grad that is collected has its modes written into the program
    logging.disable(logging.ERROR)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(**line):
        print(json.dumps(line), file=out, flush=True)

    for line in sys.stdin:
        script, function, *args = json.loads(line)
        try:
            for answer in getattr(importlib.import_module(script), function)(*args):
                say(answer=answer)
                if gc.get_count()[0] > MANY:
                    gc.collect(1)
            say()
        except Exception:
            say(error=traceback.format_exc())


if __name__ == "__main__":
    main()
