"""What torchvision makes of image files, in each mode, turned as the camera was held where the name says exif. The tensors are files by name."""

import torch
from torchvision.io import ImageReadMode, decode_image, encode_jpeg


def main(inputs):
    out = {"encoded": encode_jpeg(decode_image(inputs["rgb.png"]), quality=80)}
    for name, data in inputs.items():
        for mode in ("RGB", "GRAY", "UNCHANGED", "RGB_ALPHA"):
            try:
                img = decode_image(data, mode=ImageReadMode[mode], apply_exif_orientation=name.startswith("exif"))
            except (RuntimeError, ValueError):
                continue  # not all modes are for all formats
            out[f"{name} {mode}"] = img.to(torch.int32).contiguous() if img.dtype == torch.uint16 else img.contiguous()
    return out
