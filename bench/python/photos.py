"""Photos and small images on their way into batches: the twin of bench/photos.go.

torch's DataLoader with torchvision's transforms v2 on tensors or on PIL's images, and SPDL's pipeline of threads, where $LIBTORCH_GO_SPDL
names a folder with it."""

import os
import pathlib
import random
import sys

import torch
from mlp import pattern
from tensors import digest

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH = 64


def paths(file):
    folder = os.environ.get("LIBTORCH_GO_PHOTOS") or os.path.join(os.path.dirname(file), "photos")
    return sorted(str(p) for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() == ".jpeg")


def check_photos(files):
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms.v2 import functional as F

    batch = []
    for i, path in enumerate(files[:16]):
        img = decode_jpeg(torch.frombuffer(bytearray(open(path, "rb").read()), dtype=torch.uint8), mode=ImageReadMode.RGB)
        h, w = img.shape[-2:]
        img = F.resized_crop(img, i * h // 50, i * w // 40, h // 2 + i, w // 2, [224, 224], antialias=True)
        img = F.horizontal_flip(img) if i % 2 else img
        batch.append(F.normalize(F.to_dtype(img, torch.float32, scale=True), MEAN, STD).contiguous())
    return digest([torch.stack(batch)])


class Photos(torch.utils.data.Dataset):
    def __init__(self, files, pil):
        from torchvision.transforms import v2

        self.files, self.pil = files, pil
        first = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
        last = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        self.transform = v2.Compose(first + ([v2.PILToTensor()] if pil else []) + last)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        if self.pil:
            from PIL import Image

            with open(self.files[i], "rb") as f:
                return self.transform(Image.open(f).convert("RGB"))
        from torchvision.io import ImageReadMode, decode_jpeg, read_file

        return self.transform(decode_jpeg(read_file(self.files[i]), mode=ImageReadMode.RGB))


class Loaded:
    """An epoch of a DataLoader for each so many samples."""

    def __init__(self, dataset, batch, workers, check):
        more = {"persistent_workers": True, "multiprocessing_context": "fork"} if workers else {}
        self.loader = torch.utils.data.DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=workers, **more)
        self.check = check

    def run(self, n):
        seen = 0
        while seen < n:
            for batch in self.loader:
                seen += len(batch)
                if seen >= n:
                    break


class Small(torch.utils.data.Dataset):
    def __init__(self, images):
        from torchvision.transforms import v2

        self.images = images
        last = [v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616))]
        self.transform = v2.Compose([v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()] + last)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.transform(self.images[i])

    def check(self):
        from torchvision.transforms.v2 import functional as F

        out = []
        for i in range(64):
            img = F.crop(F.pad(self.images[i], [4]), i % 9, i % 7, 32, 32)
            img = F.horizontal_flip(img) if i % 2 else img
            out.append(F.normalize(F.to_dtype(img, torch.float32, scale=True), (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)))
        return digest([torch.stack(out)])


def cifar(workers):
    def make(file):
        images = pattern(10000 * 3 * 32 * 32, 3, 256).reshape(10000, 3, 32, 32).mul(1000).abs().remainder(256).to(torch.uint8)
        small = Small(images)
        return Loaded(small, 128, workers, small.check)

    return make


def photos(pil, workers):
    def make(file):
        files = paths(file)
        return Loaded(Photos(files, pil), BATCH, workers, lambda: check_photos(files))

    return make


class Spdl:
    """SPDL's threads and FFmpeg's decoder and filters: the part is drawn in fractions of the image, as its size is not known before."""

    def __init__(self, file, workers):
        sys.path.insert(0, os.environ["LIBTORCH_GO_SPDL"])
        import spdl.io
        from spdl.pipeline import PipelineBuilder

        self.io, self.builder, self.workers, self.files = spdl.io, PipelineBuilder, workers, paths(file)
        self.mean = torch.tensor(MEAN).view(1, 3, 1, 1)
        self.std = torch.tensor(STD).view(1, 3, 1, 1)

    def check(self):
        return check_photos(self.files)

    def batch(self, files):
        frames = []
        for path in files:
            area, form = random.uniform(0.08, 1), random.uniform(3 / 4, 4 / 3)
            w, h = min(1, (area * form) ** 0.5), min(1, (area / form) ** 0.5)
            x, y = random.uniform(0, 1 - w), random.uniform(0, 1 - h)
            flip = "hflip," if random.random() < 0.5 else ""
            desc = f"crop=max(16\\,iw*{w:.4f}):max(16\\,ih*{h:.4f}):iw*{x:.4f}:ih*{y:.4f},scale=224:224:flags=bilinear,{flip}format=pix_fmts=rgb24"
            packets = self.io.demux_image(path)
            frames.append(self.io.decode_packets(packets, filter_desc=desc))
        t = self.io.to_torch(self.io.convert_frames(frames)).permute(0, 3, 1, 2)
        return t.to(torch.float32, memory_format=torch.contiguous_format).mul_(1 / 255).sub_(self.mean).div_(self.std)

    def run(self, n):
        files = random.sample(self.files, len(self.files))
        while len(files) < n:
            files += random.sample(self.files, len(self.files))
        lists = [files[i : min(i + BATCH, n)] for i in range(0, n, BATCH)]
        line = self.builder().add_source(lists).pipe(self.batch, concurrency=self.workers).add_sink(4).build(num_threads=self.workers)
        with line.auto_stop():
            for _ in line:
                pass


CASES = {
    **{f"photos to batches, torchvision v2, {n} workers": photos(False, n) for n in range(5)},
    **{f"photos to batches, PIL, {n} workers": photos(True, n) for n in range(5)},
    **{f"photos to batches, SPDL, {n} workers": (lambda file, n=n: Spdl(file, n)) for n in range(1, 5)},
    **{f"CIFAR to batches, torchvision v2, {n} workers": cifar(n) for n in range(3)},
}
