#!/usr/bin/env python3
"""Write wheels.sum: the SHA-256 of every wheel, and part of one, that versions.env can ask for.

Asks pip what it would install for each pin and each Python; downloads no wheel, and of those that only a
part is wanted of no more than that. Run by hand after a change in versions.env, then read the diff.
"""
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

from wheels import SUMS, address, files_of, fits, remote_part

PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]


def pins():
    """Variable -> value, as bash reads versions.env."""
    env = SUMS.with_name("versions.env")
    script = f"set -a; . '{env}'; env -0"
    text = subprocess.run(["env", "-i", "bash", "-c", script], check=True, capture_output=True, text=True).stdout
    return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)


def report(python, specs):
    """(file name, SHA-256) of what pip would take for this Python; fewer where none exists."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--no-deps",
               "--only-binary=:all:", "--implementation", "cp", "--python-version", f"3.{python[1:]}",
               "--target", "unused", "--report", "-"]
    command += [arg for p in PLATFORMS for arg in ("--platform", p)]
    run = subprocess.run(command + specs, capture_output=True, text=True)
    if run.returncode == 0:
        for item in json.loads(run.stdout)["install"]:
            info = item["download_info"]
            yield Path(unquote(urlparse(info["url"]).path)).name, info["archive_info"]["hashes"]["sha256"]
    elif len(specs) > 1:
        for spec in specs:
            yield from report(python, [spec])
    else:
        print(f"none for Python 3.{python[1:]}: {specs[0]}", file=sys.stderr)


def known(spec, python, sums):
    """Whether a wheel that was found already serves this Python, too."""
    return any(fits(file, python) for file in files_of(spec, sums))


def main():
    env = pins()
    groups = [value.split() for key, value in sorted(env.items()) if "==" in value]
    sums = {}
    for python in env["PYTHON_KNOWN"].split():
        for group in groups:
            wanted = {spec.partition(":")[0]: None for spec in group}
            wanted = [spec for spec in wanted if not known(spec, python, sums)]
            if wanted:
                sums.update(report(python, wanted))
    for spec in {spec for group in groups for spec in group if ":" in spec}:
        for file in files_of(spec, sums):
            wheel, _, member = file.partition(":")
            sums[file] = hashlib.sha256(remote_part(address(wheel), member)).hexdigest()
    SUMS.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))
    print(f"{SUMS.name}: {len(sums)} wheels and parts")


if __name__ == "__main__":
    main()
