"""Asks a server everything that tritonclient can ask and the Open Inference Protocol names; argv: address, file of a picture."""
import sys

import ml_dtypes
import numpy as np
import tritonclient.grpc as tg
import tritonclient.http as th
from tritonclient.utils import InferenceServerException

address, picture = sys.argv[1], open(sys.argv[2], "rb").read()
http, grpc = th.InferenceServerClient(address), tg.InferenceServerClient(address)
calls = 0


def check(what, ok):
    global calls
    calls += 1
    if not ok:
        raise SystemExit("wrong: " + what)


def refused(what, fn, *words):
    try:
        fn()
    except InferenceServerException as e:
        check(f"{what}: {e}", all(w in str(e) for w in words))
        return
    raise SystemExit("not refused: " + what)


for c in (http, grpc):
    check("live", c.is_server_live())
    check("ready", c.is_server_ready())
    check("model ready", c.is_model_ready("echo") and c.is_model_ready("echo", "1"))
    check("no model ready", not c.is_model_ready("nothing") and not c.is_model_ready("echo", "7"))

meta = http.get_server_metadata()
check("server metadata", meta["name"] == "libtorch-go" and "binary_tensor_data" in meta["extensions"])
check("server metadata, gRPC", grpc.get_server_metadata().name == meta["name"])
meta = http.get_model_metadata("sum")
check("metadata", meta["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}, {"name": "y", "datatype": "FP32", "shape": [-1, 3]}])
check("metadata, gRPC", [(t.name, t.datatype, list(t.shape)) for t in grpc.get_model_metadata("sum").outputs] == [("output", "FP32", [-1, 3])])
refused("no such model", lambda: http.get_model_metadata("nothing"), "no such model")
refused("no such model, gRPC", lambda: grpc.get_model_metadata("nothing"), "no such model")

TYPES = {"BOOL": bool, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "UINT8": np.uint8, "UINT16": np.uint16,
         "UINT32": np.uint32, "UINT64": np.uint64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64, "BF16": ml_dtypes.bfloat16}


def infer(c, t, model, arrays, outputs=None, binary=True, **more):
    inputs = []
    for name, (datatype, a) in arrays.items():
        i = t.InferInput(name, list(a.shape), datatype)
        i.set_data_from_numpy(a, **({"binary_data": binary} if t is th else {}))
        inputs.append(i)
    return c.infer(model, inputs, outputs=outputs, **more)


for name, dtype in TYPES.items():
    a = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    if name not in ("BOOL",):
        a = (np.arange(6).reshape(3, 2) * 3).astype(dtype)
    model = "echo_" + name.lower()
    for c, t in ((http, th), (grpc, tg)):
        got = infer(c, t, model, {"input": (name, a)}, request_id="7")
        check(f"{name} {t.__name__}", got.as_numpy("output").dtype == a.dtype and (got.as_numpy("output") == a).all())
        head = got.get_response()
        check("id", (head["id"] if t is th else head.id) == "7")
    if name not in ("FP16", "BF16"):
        out = [th.InferRequestedOutput("output", binary_data=False)]
        got = infer(http, th, model, {"input": (name, a)}, out, binary=False).as_numpy("output")
        check(f"{name} in JSON", got.dtype == a.dtype and (got == a).all())

x, y = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
pair = {"y": ("FP32", y), "x": ("FP32", x)}
for packing in ("gzip", "deflate"):
    got = infer(http, th, "sum", pair, request_compression_algorithm=packing, response_compression_algorithm=packing)
    check(packing, (got.as_numpy("output") == x + y).all())
check("gzip, gRPC", (infer(grpc, tg, "sum", pair, compression_algorithm="gzip").as_numpy("output") == x + y).all())
check("timeout", (infer(http, th, "sum", pair, timeout=9_000_000, priority=1).as_numpy("output") == x + y).all())

handles = [http.async_infer("sum", [i for i in [th.InferInput("x", [5, 3], "FP32").set_data_from_numpy(x), th.InferInput("y", [5, 3], "FP32").set_data_from_numpy(y)]]) for _ in range(8)]
check("async", all((h.get_result().as_numpy("output") == x + y).all() for h in handles))

file = np.array([[picture]], dtype=object)
for c, t in ((http, th), (grpc, tg)):
    top = infer(c, t, "picture", {"input": ("BYTES", file)}, [t.InferRequestedOutput("output", class_count=3)]).as_numpy("output")
    check("classes of a picture", top.shape == (1, 3) and top[0][0].decode().count(":") == 2)
    refused("a missing input", lambda: infer(c, t, "sum", {"x": ("FP32", x)}), "expected 2")
    refused("another name", lambda: infer(c, t, "sum", {"x": ("FP32", x), "z": ("FP32", y)}), '"y" is missing')
    refused("another dtype", lambda: infer(c, t, "sum", {"x": ("FP64", x.astype(np.float64)), "y": ("FP32", y)}), "expected FP32")
    refused("another shape", lambda: infer(c, t, "sum", {"x": ("FP32", x[:, :2]), "y": ("FP32", y)}), "expected FP32[-1 3]")
    refused("rows", lambda: infer(c, t, "sum", {"x": ("FP32", x[:2]), "y": ("FP32", y)}), "rows")
    refused("too many rows", lambda: infer(c, t, "sum", {"x": ("FP32", np.zeros((99, 3), np.float32)), "y": ("FP32", np.zeros((99, 3), np.float32))}), "99 rows")
    refused("no such output", lambda: infer(c, t, "sum", pair, [t.InferRequestedOutput("nothing")]), "no output")

check("configuration", http.get_model_config("sum")["max_batch_size"] == 16 and http.get_model_config("sum", "1")["input"][0]["dims"] in ([3], ["3"]))
config = grpc.get_model_config("sum").config
check("configuration, gRPC", config.max_batch_size == 16 and config.input[1].name == "y" and list(config.output[0].dims) == [3])
check("index", {m["name"] for m in http.get_model_repository_index() if m["state"] == "READY"} >= {"sum", "picture"})
check("index, gRPC", {m.name for m in grpc.get_model_repository_index().models if m.state == "READY"} >= {"sum", "picture"})
for c, t, other, o in ((http, th, grpc, tg), (grpc, tg, http, th)):
    c.unload_model("sum")
    check("unloaded", not c.is_model_ready("sum") and not other.is_model_ready("sum"))
    refused("unloaded", lambda: infer(c, t, "sum", pair), "not loaded")
    refused("unloaded, its configuration", lambda: c.get_model_config("sum"), "not loaded")
    refused("a configuration of the client's", lambda: c.load_model("sum", config="{}"), "as they are in the folder")
    c.load_model("sum")
    check("loaded", (infer(other, o, "sum", pair).as_numpy("output") == x + y).all())
    refused("nothing to load", lambda: c.load_model("nothing"), "no such model")
    refused("nothing to unload", lambda: c.unload_model("nothing"), "no such model")
check("statistics", http.get_inference_statistics("sum")["model_stats"][0]["inference_stats"]["success"]["count"] >= 1)
check("statistics of all", {m["name"] for m in http.get_inference_statistics()["model_stats"]} >= {"sum", "picture"})
stats = grpc.get_inference_statistics("sum").model_stats[0]
check("statistics, gRPC", stats.inference_stats.success.count >= 1 and stats.inference_stats.compute_infer.ns > 0 and stats.batch_stats[0].batch_size == 5)
check("statistics of all, gRPC", {m.name for m in grpc.get_inference_statistics().model_stats} >= {"sum", "picture"})
print(calls, "calls")
