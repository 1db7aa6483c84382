"""Reads a snapshot as PyTorch's own tools do, and checks what is in it."""

import contextlib
import io
import pickle
import sys

from torch.cuda import _memory_viz as viz

with open(sys.argv[1], "rb") as f:
    data = pickle.load(f)

first, second = data["segments"]
assert first["address"] == 0x7F0000000000 and second["segment_pool_id"] == (0, 7), data
assert first["segment_type"] == "small" and second["segment_type"] == "large" and second["is_expandable"] is True
states = [(b["state"], b["address"] - first["address"], b["size"], b["requested_size"]) for b in first["blocks"]]
assert states == [
    ("active_allocated", 0, 1024, 1000), ("active_awaiting_free", 1024, 512, 500), ("inactive", 1536, 2 * 2**20 - 1536, 0)], states
(trace,) = data["device_traces"]
assert [e["action"] for e in trace] == ["segment_alloc", "alloc", "free_requested", "free_completed", "oom"]
assert trace[1]["user_metadata"] == "weights é" and trace[4]["device_free"] == 123 and trace[4]["size"] == 1 << 40
assert "addr" not in trace[4] and trace[0]["time_us"] == 1_700_000_000_000_000
assert data["allocator_settings"]["garbage_collection_threshold"] == 0.75
with contextlib.redirect_stdout(io.StringIO()):
    assert "weights" not in viz.segsum(data)
    viz.trace(data)
assert viz.segment_plot(data) and viz.trace_plot(data)
print("read")
