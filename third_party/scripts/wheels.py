#!/usr/bin/env python3
"""Fetch pinned wheels by name, check them against wheels.sum, and unpack them.

    wheels.py CACHE DEST [--exact] [--same-python] [--from FOLDER] NAME==VERSION...

DEST then holds these wheels, laid out as pip would lay them out, and a file .wheels
that lists them; nothing is done where it lists them already. Downloads go through pip
into CACHE, one wheel at a time, and get their name there only when they are whole and
checked; an unpack gets its name DEST only when it is whole. So both can be interrupted
at any time and repeated. Libraries inside compiled wheels are the same for all Pythons:
one that is unpacked for another Python will do, and so will another's where there is none
for this one, unless --same-python. --exact also replaces a DEST that holds more wheels
than asked for. --from takes the wheels from a folder, checked like downloads, and asks no network.
"""
import argparse
import errno
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

SUMS = Path(__file__).resolve().parents[1] / "wheels.sum"
SERVES_ALL = "312"  # the Python whose wheel is taken where there is none for the one at hand


class Failure(Exception):
    """What went wrong, in one line."""


def own_tag():
    free_threaded = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{sys.version_info[0]}{sys.version_info[1]}{free_threaded}"


def read_sums():
    """File name -> SHA-256, of every wheel that may be used."""
    lines = SUMS.read_text().splitlines() if SUMS.exists() else []
    return {name: digest for digest, name in (line.split() for line in lines)}


def normal(name):
    return re.sub(r"[-_.]+", "_", name).lower()


def fits(file, tag):
    """Whether the wheel can be imported by the Python of this tag."""
    python, abi, _ = file[: -len(".whl")].rsplit("-", 3)[1:]
    if "py3" in python.split("."):
        return True
    if abi == "abi3":
        return tag.isdigit() and int(python[3:]) <= int(tag[1:])
    return python == f"cp{tag}" and abi == python


def files_of(spec, sums):
    """All wheels for NAME==VERSION."""
    name, version = spec.split("==")
    return [f for f in sums if normal(f.split("-")[0]) == normal(name) and f.split("-")[1] == version]


def choose(spec, sums, same_python, folder):
    """The wheel file to install for NAME==VERSION."""
    files = files_of(spec, sums)
    fitting = [f for tag in ([own_tag()] if same_python else [own_tag(), SERVES_ALL]) for f in files if fits(f, tag)]
    if folder and not same_python:
        fitting = [f for f in fitting + files if (folder / f).exists()] or fitting
    if not fitting:
        wanted = f" for Python {own_tag()}" if files else ": after a change in versions.env run pin.py"
        raise Failure(f"{SUMS.name} has no {spec}{wanted}")
    return fitting[0]


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def need_space(folder, needed, what):
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Failure(f"disk full: {what} needs {needed >> 20} MB in {folder}, {free >> 20} MB are free")


def explain(log, file):
    """Pip's pages of complaint as one line."""
    if "DO NOT MATCH THE HASHES" in log:
        return f"hash mismatch: what was served as {file} is not what {SUMS.name} says; nothing was kept"
    if "No space left" in log:
        return f"disk full: no room to download {file}"
    if re.search(r"Retrying|NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|Connection(Error| (aborted|reset|broken))", log):
        return f"no network: pip cannot download {file}; run again when it is back, whole wheels are kept"
    errors = [line for line in log.splitlines() if line.startswith("ERROR")]
    return f"pip cannot download {file}: {errors[-1] if errors else log.strip()[-300:]}"


def pip_command(file, digest, partial):
    """Ask pip for exactly this file, whatever the Python and the system that ask."""
    name, version, *_ = file.split("-")
    python, abi, platforms = file[: -len(".whl")].rsplit("-", 3)[1:]
    wanted = partial / "wanted.txt"
    wanted.write_text(f"{name}=={version} --hash=sha256:{digest}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--no-cache-dir",
               "--only-binary=:all:", "--disable-pip-version-check", "--implementation", "cp",
               "--abi", abi, "--dest", str(partial), "-r", str(wanted)]
    if python.startswith("cp"):
        command += ["--python-version", f"3.{python[3:]}"]
    for platform in platforms.split("."):
        if platform != "any":
            command += ["--platform", platform]
    return command if sys.stdout.isatty() else command + ["--quiet"]


def download(file, digest, cache):
    print(f"    fetching {file}", flush=True)
    with tempfile.TemporaryDirectory(prefix="partial-", dir=cache) as folder:
        partial = Path(folder)
        # pip unpacks and buffers in TMPDIR: keep that, too, out of the rest of the machine.
        env = dict(os.environ, TMPDIR=folder, PIP_RESUME_RETRIES="10", PYTHONWARNINGS="ignore")
        run = subprocess.run(pip_command(file, digest, partial), env=env, stderr=subprocess.PIPE, text=True)
        if "No module named pip" in run.stderr:
            raise Failure(f"{sys.executable} has no pip: install it (Debian, Ubuntu: apt install python3-pip)")
        if run.returncode != 0:
            raise Failure(explain(run.stderr, file))
        found = [p for p in partial.glob("*.whl")]
        if not found or sha256(found[0]) != digest:
            raise Failure(f"hash mismatch: {file} is not what {SUMS.name} says; nothing was kept")
        os.replace(found[0], cache / file)


def given(file, digest, folder):
    """The checked wheel in a folder that the user filled."""
    if sha256(folder / file) != digest:
        raise Failure(f"hash mismatch: {folder / file} is not what {SUMS.name} says")
    return folder / file


def fetch(file, digest, cache):
    """The whole and checked wheel in the cache."""
    path = cache / file
    if path.exists() and sha256(path) != digest:
        print(f"    {file} in the cache is damaged: fetching it again")
        path.unlink()
    if not path.exists():
        download(file, digest, cache)
    return path


def place(member):
    """Where a wheel's member goes: NAME.data/scripts -> bin, other NAME.data/* -> the top."""
    parts = member.split("/")
    if not parts[0].endswith(".data") or len(parts) < 3:
        return member
    return "/".join((["bin"] if parts[1] == "scripts" else []) + parts[2:])


def extract(wheel, dest):
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            target = dest / place(info.filename)
            if dest.resolve() not in target.resolve().parents:
                raise Failure(f"{wheel.name} reaches outside its folder: {info.filename}")
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            os.chmod(target, 0o755 if info.external_attr >> 16 & 0o111 else 0o644)


def unpack(wheels, dest):
    partial = dest.with_name(dest.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    size = sum(i.file_size for w in wheels for i in zipfile.ZipFile(w).infolist())
    need_space(partial, size + (64 << 20), f"unpacking to {dest.name}")
    print(f"    unpacking {len(wheels)} wheels, {size >> 20} MB", flush=True)
    for wheel in wheels:
        extract(wheel, partial)
    (partial / ".wheels").write_text("".join(f"{w.name}\n" for w in wheels))
    old = dest.with_name(dest.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if dest.exists():
        os.replace(dest, old)
    os.replace(partial, dest)
    shutil.rmtree(old, ignore_errors=True)


def satisfied(args, files, sums):
    """Whether DEST is as wanted already."""
    listing = args.dest / ".wheels"
    have = set(listing.read_text().split()) if listing.exists() else set()
    if args.exact and len(have) != len(files):
        return False
    if args.same_python:
        return have.issuperset(files)
    return all(have.intersection(files_of(spec, sums)) for spec in args.specs)


def install(args):
    sums = read_sums()
    files = [choose(spec, sums, args.same_python, args.folder) for spec in args.specs]
    if satisfied(args, files, sums):
        return
    if args.folder:
        missing = [f for f in files if not (args.folder / f).exists()]
        if missing:
            raise Failure(f"{args.folder} lacks {' '.join(missing)}")
    args.cache.mkdir(parents=True, exist_ok=True)
    args.dest.parent.mkdir(parents=True, exist_ok=True)
    with open(args.cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time: what is partial now is nobody's
        for old in args.cache.glob("partial-*"):
            shutil.rmtree(old, ignore_errors=True)
        if args.folder:
            unpack([given(f, sums[f], args.folder) for f in files], args.dest)
            return
        missing = [f for f in files if not (args.cache / f).exists()]
        if missing:
            sizes = [guess(f) for f in missing]
            need_space(args.cache, sum(sizes) + max(sizes), "downloading")  # pip has each twice for a moment
        unpack([fetch(f, sums[f], args.cache) for f in files], args.dest)


def guess(file):
    """About how large a download is, before it is known: to fail early on a full disk."""
    if file.startswith("torch-"):
        return 560 << 20
    large = ("nvidia_cublas-", "nvidia_cudnn", "nvidia_cufft-", "nvidia_cusolver-", "nvidia_cusparse", "nvidia_nccl")
    return (500 if file.startswith(large) else 20) << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("dest", type=Path)
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--same-python", action="store_true")
    parser.add_argument("--from", dest="folder", type=Path)
    args = parser.parse_intermixed_args()
    args.specs = " ".join(args.specs).split()  # a whole list may come as one argument
    try:
        install(args)
    except Failure as e:
        sys.exit(f"build.sh: {e}")
    except OSError as e:
        full = e.errno in (errno.ENOSPC, errno.EDQUOT)
        sys.exit(f"build.sh: {'disk full: ' if full else ''}{e}")
    except KeyboardInterrupt:
        sys.exit(130)  # build.sh is interrupted as well, and says so


if __name__ == "__main__":
    main()
