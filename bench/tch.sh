#!/usr/bin/env bash
# tch: the tiny operators against Rust's tch 0.24 on the same libtorch, in one run.
#
#     bench/tch.sh [FLAGS OF go run ./bench]
#
# Needs cargo (Rust 1.80 or later). The Rust side (bench/tch) is compiled once, some minutes; libtorch.so, which tch links, is an empty
# library, because linking libtorch's would need all of CUDA.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD cache=${XDG_CACHE_HOME:-$HOME/.cache}/libtorch-go/tch torch=$PWD/third_party/libtorch/torch
libraries=$torch/lib
for dir in third_party/libtorch/nvidia/*/lib; do
	[[ -d $dir ]] && libraries+=:$root/$dir
done
if [[ ! -e $cache/libtorch/complete ]]; then
	rm -rf "$cache/libtorch"
	mkdir -p "$cache/libtorch/lib"
	ln -s "$torch/include" "$cache/libtorch/include"
	for name in c10 torch_cpu; do
		ln -s "$torch/lib/lib$name.so" "$cache/libtorch/lib"
	done
	g++ -shared -o "$cache/libtorch/lib/libtorch.so" -x c /dev/null
	touch "$cache/libtorch/complete"
fi
LIBTORCH=$cache/libtorch LIBTORCH_CXX11_ABI=1 cargo rustc --release --quiet --manifest-path bench/tch/Cargo.toml \
	--target-dir "$cache/target" -- -C link-arg=-Wl,--allow-shlib-undefined
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s:%s exec %s\n' "$cache/libtorch/lib" "$libraries" "$cache/target/release/peer" >"$cache/peer"
chmod +x "$cache/peer"
go run ./bench -against "tch=$cache/peer" -run '^(add|add_|view|mm 4x4|empty|add scalar|relu|sum|add, recorded)$' "$@"
