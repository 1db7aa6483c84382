"""Every window of windows_test.go, its gradients where it has some, and the complaints."""

import torch
from torch.signal import windows as W

FUNCTIONS = {
    "bartlett": W.bartlett,
    "blackman": W.blackman,
    "cosine": W.cosine,
    "exponential": lambda n, **kw: W.exponential(n, tau=1.0, **kw),
    "exponential slow": lambda n, **kw: W.exponential(n, tau=43.5, **kw),
    "gaussian": lambda n, **kw: W.gaussian(n, std=1.0, **kw),
    "gaussian wide": lambda n, **kw: W.gaussian(n, std=4.5, **kw),
    "general_cosine": lambda n, **kw: W.general_cosine(n, a=[0.46, 0.23, 0.31], **kw),
    "general_cosine of one": lambda n, **kw: W.general_cosine(n, a=[0.5], **kw),
    "general_hamming": lambda n, **kw: W.general_hamming(n, alpha=0.23, **kw),
    "hamming": W.hamming,
    "hann": W.hann,
    "kaiser": lambda n, **kw: W.kaiser(n, beta=12.0, **kw),
    "kaiser of zero": lambda n, **kw: W.kaiser(n, beta=0.0, **kw),
    "nuttall": W.nuttall,
}
SIZES = (0, 1, 2, 3, 8, 31, 128)

COMPLAINTS = {
    "bartlett length": lambda: W.bartlett(-1),
    "blackman length": lambda: W.blackman(-1),
    "cosine length": lambda: W.cosine(-1),
    "exponential length": lambda: W.exponential(-1),
    "gaussian length": lambda: W.gaussian(-1),
    "general_cosine length": lambda: W.general_cosine(-1, a=[1.0]),
    "general_hamming length": lambda: W.general_hamming(-1),
    "hamming length": lambda: W.hamming(-1),
    "hann length": lambda: W.hann(-1),
    "kaiser length": lambda: W.kaiser(-1),
    "nuttall length": lambda: W.nuttall(-1),
    "bartlett int64": lambda: W.bartlett(3, dtype=torch.int64),
    "kaiser float16": lambda: W.kaiser(3, dtype=torch.float16),
    "hann bfloat16": lambda: W.hann(3, dtype=torch.bfloat16),
    "cosine sparse": lambda: W.cosine(3, layout=torch.sparse_coo),
    "tau": lambda: W.exponential(3, tau=-1.0),
    "center": lambda: W.exponential(3, center=1.0),
    "std": lambda: W.gaussian(3, std=-1e-5),
    "coefficients": lambda: W.general_cosine(3, a=[]),
    "no coefficients": lambda: W.general_cosine(3, a=None),
    "beta": lambda: W.kaiser(3, beta=-0.5),
}


def complaint(fn):
    try:
        fn()
    except Exception as e:
        return torch.tensor(list(f"{type(e).__name__}: {e}".encode()), dtype=torch.uint8)


def main(_):
    results = {name: complaint(fn) for name, fn in COMPLAINTS.items()}
    for name, fn in FUNCTIONS.items():
        for dtype in (torch.float32, torch.float64):
            for sym in (True, False):
                for n in SIZES:
                    results[f"{name} {n} {dtype} {sym}"] = fn(n, sym=sym, dtype=dtype)
    results["center 8"] = W.exponential(16, center=8.5, tau=2.5, sym=False)
    return results
