# peer: Python's torch on the very libraries that Go uses, as the oracle of the tests.
# The unpacked wheel is that package; it lacks a few pure packages, and the CUDA
# libraries it is linked to, for which empty ones serve as long as no GPU is used.
# shellcheck shell=bash disable=SC2154

peer() {
	local tag numpy specs dir=$home/peer torch
	torch=$(torch_dir)
	if ! compgen -G "$torch/_C.cpython-*.so" >/dev/null; then
		rm -rf "$dir"
		echo "    no peer: the libtorch in $torch is not Python's; tests that compare with it are skipped"
		return
	fi
	has "$python" || die "there is no $python: install Python 3.10 or later, or set PYTHON"
	tag=$("$python" -c 'import sys; print("%d%d" % sys.version_info[:2])')
	[[ " $PYTHON_KNOWN " == *" $tag "* ]] ||
		die "the peer needs a Python of ${PYTHON_KNOWN// /, } (as 3.x), $python is $tag: set PYTHON"
	compgen -G "$torch/_C.cpython-$tag-*.so" >/dev/null ||
		die "the libtorch in $torch has no module for $python ($tag): set PYTHON to another Python"
	numpy=NUMPY_$tag
	specs="$PEER ${!numpy:-$NUMPY} $(pins VISION)"
	wheels "$dir/site" --same-python "$specs"
	stubs "$dir/stubs" "$torch"
	sitecustomize | replace "$dir/site/sitecustomize.py"
	wrapper "$torch" | replace "$dir/python"
	chmod +x "$dir/python"
	compgen -G "$torch/__pycache__/*.cpython-$tag.pyc" >/dev/null || warm "$dir/python"
	echo "    ${dir#"$root"/}/python"
}

# warm imports once what tests import again and again. Wheels come without compiled modules, and
# tests write none: each of their hundreds of Pythons would compile all of torch anew.
warm() {
	env -u PYTHONDONTWRITEBYTECODE "$1" - <<-'EOF'
		import importlib
		internal = "torch.testing._internal."
		for name in ("torch.utils.checkpoint", "torch.profiler", "torchvision", internal + "common_optimizers", internal + "common_modules",
		             internal + "common_methods_invocations", internal + "autocast_test_lists"):
		    try:
		        importlib.import_module(name)
		    except Exception as e:
		        print(f"    the peer cannot import {name}: {e!r}")
	EOF
}

sitecustomize() {
	cat <<-'EOF'
		"""Bind late: the CUDA libraries that torch is linked to may be empty ones."""
		import os
		import sys

		sys.setdlopenflags(os.RTLD_LAZY | os.RTLD_GLOBAL)
	EOF
}

wrapper() {
	cat <<-EOF
		#!/bin/sh
		# Python with torch on the libraries that Go uses.
		here=\$(cd "\$(dirname "\$0")" && pwd)
		PYTHONPATH=\$here/site:$(dirname "$1")\${PYTHONPATH:+:\$PYTHONPATH}
		LD_LIBRARY_PATH=\$here/stubs\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
		export PYTHONPATH LD_LIBRARY_PATH
		exec '$("$python" -c 'import sys; print(sys.executable)')' "\$@"
	EOF
}

# stubs DIR TORCH: an empty library for each that torch needs and nobody has.
stubs() {
	local name
	mkdir -p "$1"
	for name in $(needed "$2"); do
		if compgen -G "$2/../nvidia/*/lib/$name" >/dev/null || ldconfig -p 2>/dev/null | grep -q "	$name "; then
			rm -f "$1/$name"
		elif [[ ! -e $1/$name ]]; then
			stub "$1/$name" "$name"
		fi
	done
}

# stub FILE NAME: functions that a library lacks are missed only when they are called,
# but variables when it is loaded: torch 2.15 reads one of NVSHMEM.
stub() {
	local cc
	cc=$(command -v "${CC:-cc}" || command -v gcc || command -v c++) || die "there is no C compiler: install gcc, or set CC"
	if [[ $2 == libnvshmem_host.* ]]; then
		echo 'NVSHMEM { global: *; };' >"$1.map"
		"$cc" -shared -o "$1" -Wl,-soname,"$2" -Wl,--version-script="$1.map" -x c - <<<'int nvshmem_selected_device_transport;'
		rm "$1.map"
	else
		"$cc" -shared -o "$1" -Wl,-soname,"$2" -x c /dev/null
	fi
}

# needed TORCH: the NVIDIA libraries that torch's own ask for.
needed() {
	readelf -d "$1"/lib/libtorch*.so "$1"/lib/libc10*.so |
		sed -n 's/.*(NEEDED).*\[\(lib\(cu\|nv\|nccl\)[^]]*\)\].*/\1/p' | sort -u
}
