#!/usr/bin/env bash
# gotorch: the speed of compat/gotorch against the real github.com/wangkuiyi/gotorch on the same libtorch, in one run.
#
#     bench/gotorch.sh [FLAGS OF GO TEST]
#
# The real one is fetched from Go's module proxy and compiled once (some minutes), with C++17 in its Makefile and our libtorch where it
# expects its own; libtorch.so is an empty library, because linking libtorch's would need all of CUDA. Nothing else of it is changed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD module=github.com/wangkuiyi/gotorch@v0.0.0-20201028015551-9afed2f3ad7b
rival=${XDG_CACHE_HOME:-$HOME/.cache}/libtorch-go/gotorch torch=$root/third_party/libtorch/torch
if [[ ! -x $rival/speed ]]; then
	rm -rf "$rival"
	source=$(go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	cp -r "$source" "$rival"
	chmod -R u+w "$rival"
	cd "$rival/cgotorch"
	sed -i 's/-std=c++14/-std=c++17/' Makefile
	mkdir -p libtorch/lib
	ln -s "$torch/include" libtorch/include
	ln -s "$torch"/lib/* libtorch/lib
	rm -f libtorch/lib/libtorch.so
	g++ -shared -o libtorch/lib/libtorch.so -x c /dev/null
	make -j2 CXX=g++ LIB_SUFFIX=so LOAD=force_load GLIBCXX_USE_CXX11_ABI=1 LIBTORCH_DIR=libtorch CUDA_FLAGS= INSTALL_NAME=
	mkdir ../cmd/speed
	cp "$root/internal/gotorch/testdata/speed/main.go" ../cmd/speed
	cd ..
	CGO_LDFLAGS=-Wl,--allow-shlib-undefined go build -o speed.real ./cmd/speed
	libraries=$rival/cgotorch:$torch/lib
	for dir in "$root"/third_party/libtorch/nvidia/*/lib; do
		[[ -d $dir ]] && libraries+=:$dir
	done
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$rival/speed.real" >speed
	chmod +x speed
	cd "$root"
fi
go test -count=1 ./internal/gotorch -run Speed -v -rival "$rival/speed" "$@"
