"""The Python side of the benchmark: obeys one JSON command a line, answers with one line.

    {"cmd": "hello"}                                           -> {"version": ...}
    {"cmd": "load", "file": F}                                 -> {}
    {"cmd": "check", "case": C}                                -> {"result": digest}
    {"cmd": "run", "case": C, "threads": T, "n": N}            -> {"wall": ns, "cpu": ns}
    {"cmd": "memory"}                                          -> {"rss": bytes, "peak": bytes}

bench/serve.go is its twin. A failed command answers {"error": text}.
"""

import json
import re
import sys
import time
import traceback

import torch

import cuda_cases
import files
import mlp
import optimizers
import photos
import resnet
import tiny

MAKERS = {**tiny.CASES, **optimizers.CASES, **mlp.CASES, **resnet.CASES, **files.CASES, **photos.CASES, **cuda_cases.CASES}


class Peer:
    def __init__(self):
        self.file = None
        self.cases = {}

    def case(self, name):
        if name not in self.cases:
            self.cases[name] = MAKERS[name](self.file)
        return self.cases[name]

    def hello(self, request):
        return {"version": torch.__version__.partition("+")[0]}

    def load(self, request):
        self.file = request["file"]
        return {}

    def check(self, request):
        torch.set_num_threads(1)
        return {"result": self.case(request["case"]).check()}

    def run(self, request):
        run, n = self.case(request["case"]).run, request["n"]
        torch.set_num_threads(request["threads"])
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        run(n)
        return {"cpu": time.thread_time_ns() - cpu, "wall": time.perf_counter_ns() - wall}

    def memory(self, request):
        with open("/proc/self/status") as f:
            sizes = dict(re.findall(r"(\w+):\s+(\d+) kB", f.read()))
        return {"rss": int(sizes["VmRSS"]) * 1024, "peak": int(sizes["VmHWM"]) * 1024}


def main():
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(peer, request["cmd"])(request)
        except Exception:
            reply = {"error": traceback.format_exc()}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
