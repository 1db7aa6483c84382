# Finds libtorch for the programs of this bundle, and unpacks them; sourced by its scripts, and by you:
#     . ./env.sh && quickstart
# It takes LIBTORCH, or else the torch of $PYTHON (python3).
# shellcheck shell=bash

bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}

find_torch() {
	"$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null
}

: "${LIBTORCH:=$(find_torch)}"
[[ -e $LIBTORCH/lib/libtorch_cpu.so ]] || {
	echo "there is no libtorch ${LIBTORCH:+in $LIBTORCH}: $python has no torch; set LIBTORCH, or PYTHON to one that has it" >&2
	return 1
}
built=$(<"$bundle/lib/version.txt")
found=$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$LIBTORCH/version.py" 2>/dev/null || true)
[[ -z $found || ${found%.*} == "${built%.*}" ]] || {
	echo "this bundle is for libtorch $built, the one in $LIBTORCH is $found" >&2
	return 1
}

# The folder the programs call home: they, our libraries, and the Python to compare with.
# The bundle itself may be read-only.
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
ln -s "$bundle/lib" "$home/lib"
tar -C "$home" -xJf "$bundle/programs.tar.xz" 2>/dev/null ||
	"$python" -m tarfile -e "$bundle/programs.tar.xz" "$home" || return 1 # where there is no xz
PATH=$home/bin:$PATH
# Comparing takes what an unpacked wheel may lack, NumPy for one. expecttest is a package that
# torch.testing takes the base of its tests from, and nothing else; few machines have it.
packages=$(dirname "$LIBTORCH")
if missing=$(PYTHONPATH=$packages "$python" -c 'import numpy, torch' 2>&1); then
	mkdir -p "$home/peer/site"
	PYTHONPATH=$packages "$python" -c 'import expecttest' 2>/dev/null ||
		printf 'import unittest\n\n\nclass TestCase(unittest.TestCase):\n    pass\n' >"$home/peer/site/expecttest.py"
	printf '#!/bin/sh\nPYTHONPATH=%q exec %q "$@"\n' "$packages:$home/peer/site" "$(command -v "$python")" >"$home/peer/python"
	chmod +x "$home/peer/python"
else
	echo "nothing is compared with Python's torch: $python says ${missing##*$'\n'}" >&2
fi
export LIBTORCH LIBTORCH_GO_HOME=$home
