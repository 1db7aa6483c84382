"""Packs folders into FILE, a .tar.xz: pack.py FILE IN FOLDER...

The programs of a bundle have most of their code in common. They lie megabytes apart, so
that it takes a large window to see it: with xz's own the archive is twice as large.
"""

import lzma
import sys
import tarfile

WINDOW = 256 << 20  # bytes; whoever unpacks needs as much memory
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 3, "dict_size": WINDOW, "mf": lzma.MF_HC4, "mode": lzma.MODE_FAST, "depth": 8}]


def main(path, base, *folders):
    with lzma.open(path, "wb", filters=FILTERS) as out, tarfile.open(fileobj=out, mode="w|") as tar:
        for folder in folders:
            tar.add(f"{base}/{folder}", folder)


main(*sys.argv[1:])
