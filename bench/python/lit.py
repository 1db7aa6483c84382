"""The network of service.py behind LitServe, whose workers are processes.

    python lit.py PORT [WORKERS]
"""
import sys
from typing import Annotated

import litserve
import torch
from fastapi import Depends, Request

from service import MAX_BATCH, MAX_DELAY, described, network, numbers, respond


async def image(request: Request) -> bytes:
    body = await request.body()
    return body[int(request.headers["inference-header-content-length"]):]


class Network(litserve.LitAPI):
    def setup(self, device):
        self.model = network()

    def decode_request(self, request: Annotated[bytes, Depends(image)]):
        return numbers(request)

    def batch(self, images):
        return torch.cat(images)

    def predict(self, x):
        with torch.inference_mode():
            return self.model(x).numpy()

    def unbatch(self, rows):
        return list(rows)

    def encode_response(self, row):
        return respond("resnet18", row.tobytes())


if __name__ == "__main__":
    api = Network(max_batch_size=MAX_BATCH, batch_timeout=MAX_DELAY, api_path="/v2/models/resnet18/infer")
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=int(*sys.argv[2:] or [1]), fast_queue=True, timeout=60)
    server.app.add_api_route("/v2/models/resnet18", lambda: described("resnet18", [-1, 3, 64, 64]), methods=["GET"])
    server.run(port=int(sys.argv[1]), num_api_servers=1, log_level="warning", generate_client_file=False)
