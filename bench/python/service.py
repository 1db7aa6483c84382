"""ResNet-18 at 64 x 64 behind FastAPI, in batches, spoken to as cmd/serve is, and a model that does nothing; or, with "export", both as
programs for cmd/serve.

    python service.py export FOLDER      # FOLDER/resnet18.pt2 and its config
    python service.py serve PORT
"""
import asyncio
import contextlib
import json
import os
import sys
import warnings

import torch
import torchvision

MAX_BATCH, MAX_DELAY = 16, 0.002
NUMBERS = 37500  # 150 KB


class Null(torch.nn.Module):
    def forward(self, x):
        return x.narrow(1, 0, 10).clone()


def network():
    torch.manual_seed(0)
    return torchvision.models.resnet18(num_classes=10).eval()


def export(folder):
    os.makedirs(folder, exist_ok=True)
    rows = torch.export.Dim("rows", min=1, max=64)
    program = torch.export.export(network(), (torch.zeros(2, 3, 64, 64),), dynamic_shapes=({0: rows},))
    torch.export.save(program, f"{folder}/resnet18.pt2")
    torch.export.save(torch.export.export(Null(), (torch.zeros(2, NUMBERS),), dynamic_shapes=({0: rows},)), f"{folder}/null.pt2")
    with open(f"{folder}/resnet18.json", "w") as f:
        json.dump({"max_batch": MAX_BATCH, "max_delay": f"{1000 * MAX_DELAY}ms"}, f)


def serve(port):
    import uvicorn
    from fastapi import FastAPI, Request, Response

    model, null, waiting = network(), Null().eval(), asyncio.Queue()
    warnings.filterwarnings("ignore", "The given buffer is not writable")

    @torch.inference_mode()
    def compute(batch):
        x = torch.cat([torch.frombuffer(bytearray(raw), dtype=torch.float32).view(1, 3, 64, 64) for raw, _ in batch])
        return [row.numpy().tobytes() for row in model(x)]

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
        return {"name": "resnet18", "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3, 64, 64]}]}

    def respond(model, raw):
        head = json.dumps({"model_name": model, "outputs": [{"name": "output", "datatype": "FP32", "shape": [1, 10],
                                                             "parameters": {"binary_data_size": len(raw)}}]}).encode()
        return Response(head + raw, media_type="application/octet-stream", headers={"Inference-Header-Content-Length": str(len(head))})

    @app.get("/v2/models/null")
    async def describe_null():
        return {"name": "null", "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, NUMBERS]}]}

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

    uvicorn.run(app, port=port, log_level="warning")


if __name__ == "__main__":
    {"export": export, "serve": lambda port: serve(int(port))}[sys.argv[1]](sys.argv[2])
