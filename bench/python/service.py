"""ResNet-18 at 64 x 64 behind the servers of Python, in batches, spoken to as cmd/serve is, and a model that does nothing; or, with "export",
both as programs for cmd/serve, and the network for ONNX Runtime.

    python service.py export FOLDER FORM...                    # FOLDER/FORM/resnet18.pt2 and its config: exact, fast, bfloat16, int8
    python service.py onnx FILE                                # the network for ONNX Runtime
    python service.py fastapi PORT                             # FastAPI and torch
    python service.py onnxruntime PORT NETWORK.ONNX            # FastAPI and ONNX Runtime
    python service.py ask URL [MOST]                           # compares the answer to an image: it may differ by MOST, relative to the largest number

OMP_NUM_THREADS is how many threads a model computes with. lit.py is the same behind LitServe.
"""
import asyncio
import contextlib
import json
import os
import sys
import urllib.request
import warnings

import torch
import torchvision
from safetensors.torch import save_file

MAX_BATCH, MAX_DELAY = 16, 0.002
NUMBERS = 37500  # 150 KB


class Null(torch.nn.Module):
    def forward(self, x):
        return x.narrow(1, 0, 10).clone()


def network():
    torch.manual_seed(0)
    return torchvision.models.resnet18(num_classes=10).eval()


def export(folder, *forms):
    rows = torch.export.Dim("rows", min=1, max=64)
    program = torch.export.export(network(), (torch.zeros(2, 3, 64, 64),), dynamic_shapes=({0: rows},))
    null = torch.export.export(Null(), (torch.zeros(2, NUMBERS),), dynamic_shapes=({0: rows},))
    torch.manual_seed(2)
    samples = torch.randn(32, 3, 64, 64)
    for form in forms:
        own = f"{folder}/{form}"
        os.makedirs(own)
        torch.export.save(program, f"{own}/resnet18.pt2")
        torch.export.save(null, f"{own}/null.pt2")
        config = {"max_batch": MAX_BATCH, "max_delay": f"{1000 * MAX_DELAY}ms", "compile": form}
        if form == "int8":
            config["samples"] = "samples/resnet18.safetensors"
            os.makedirs(f"{own}/samples")
            save_file({"x": samples}, f"{own}/{config['samples']}")
        with open(f"{own}/resnet18.json", "w") as f:
            json.dump(config, f)


def onnx(file):
    rows = torch.export.Dim("rows", min=1, max=64)
    torch.onnx.export(network(), (torch.zeros(2, 3, 64, 64),), file, input_names=["x"], output_names=["y"], dynamic_shapes=({0: rows},),
                      dynamo=True, external_data=False)


def described(name, shape):
    return {"name": name, "inputs": [{"name": "x", "datatype": "FP32", "shape": shape}]}


def respond(model, raw):
    from fastapi import Response

    head = json.dumps({"model_name": model, "outputs": [{"name": "output", "datatype": "FP32", "shape": [1, 10],
                                                         "parameters": {"binary_data_size": len(raw)}}]}).encode()
    return Response(head + raw, media_type="application/octet-stream", headers={"Inference-Header-Content-Length": str(len(head))})


def numbers(raw):
    """The image in a body, without a copy of its own."""
    return torch.frombuffer(bytearray(raw), dtype=torch.float32).view(1, 3, 64, 64)


def serve(port, run):
    """FastAPI; run takes a batch of images to a row of answers for each."""
    import uvicorn
    from fastapi import FastAPI, Request

    null, waiting = Null().eval(), asyncio.Queue()
    warnings.filterwarnings("ignore", "The given buffer is not writable")

    def compute(batch):
        return [row.tobytes() for row in run(torch.cat([numbers(raw) for raw, _ in batch]))]

    async def batches():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await waiting.get()]
            end = loop.time() + MAX_DELAY
            while len(batch) < MAX_BATCH and (left := end - loop.time()) > 0:
                try:
                    batch.append(await asyncio.wait_for(waiting.get(), left))
                except asyncio.TimeoutError:
                    break
            while len(batch) < MAX_BATCH and not waiting.empty():
                batch.append(waiting.get_nowait())
            answers = await loop.run_in_executor(None, compute, batch)
            for (_, answer), raw in zip(batch, answers):
                answer.set_result(raw)

    @contextlib.asynccontextmanager
    async def lifespan(_):
        task = asyncio.create_task(batches())
        yield
        task.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.get("/v2/models/resnet18")
    async def describe():
        return described("resnet18", [-1, 3, 64, 64])

    @app.get("/v2/models/null")
    async def describe_null():
        return described("null", [-1, NUMBERS])

    @app.post("/v2/models/null/infer")
    async def infer_null(request: Request):  # at once: nothing is faster here
        body = await request.body()
        with torch.inference_mode():
            x = torch.frombuffer(body, dtype=torch.float32, offset=int(request.headers["inference-header-content-length"]))
            return respond("null", null(x.view(1, NUMBERS)).numpy().tobytes())

    @app.post("/v2/models/resnet18/infer")
    async def infer(request: Request):
        body = await request.body()
        answer = asyncio.get_running_loop().create_future()
        await waiting.put((body[int(request.headers["inference-header-content-length"]):], answer))
        return respond("resnet18", await answer)

    uvicorn.run(app, port=int(port), log_level="warning")


def fastapi(port):
    model = network()

    @torch.inference_mode()
    def run(x):
        return model(x).numpy()

    serve(port, run)


def onnxruntime(port, file):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", 0))
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    serve(port, lambda x: session.run(None, {"x": x.numpy()})[0])


def ask(url, most="1e-4"):
    torch.manual_seed(1)
    image = torch.randn(1, 3, 64, 64)
    want = network()(image).detach()
    head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3, 64, 64], "parameters": {"binary_data_size": image.numel() * 4}}],
                       "parameters": {"binary_data_output": True}}).encode()
    request = urllib.request.Request(f"{url}/infer", head + image.numpy().tobytes(), {"Inference-Header-Content-Length": str(len(head))})
    with urllib.request.urlopen(request) as response:
        raw = response.read()[int(response.headers["Inference-Header-Content-Length"]):]
    difference = ((torch.frombuffer(bytearray(raw), dtype=torch.float32) - want[0]).abs().max() / want.abs().max()).item()
    if not difference < float(most):
        sys.exit(f"{url}: the answer differs by {difference:.1e}, relative to its largest number")
    print(f"{url}: differs by {difference:.1e}")


if __name__ == "__main__":
    verbs = {f.__name__: f for f in (export, onnx, fastapi, onnxruntime, ask)}
    verbs[sys.argv[1]](*sys.argv[2:])
