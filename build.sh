#!/usr/bin/env bash
# Fetches libtorch, builds the shim between it and Go, and runs what needs both.
# ./build.sh help says how. What it fetches, builds and writes is in third_party/ and dist/,
# and in a cache of downloads.
set -euo pipefail
[[ ${LIBTORCH:-/} == /* ]] || LIBTORCH=$PWD/$LIBTORCH
started=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$PWD

usage() {
	cat <<EOF
usage: ./build.sh [--cpu|--cuda] [VERB] [ARGUMENTS]

  (none)   deps and shim: all that Go programs need
  deps     fetch libtorch $LIBTORCH_DEFAULT and unpack it to third_party/libtorch
  shim     build cgo/shim to third_party/lib/libtorchgo.so
  peer     make third_party/peer/python: Python's torch on the same libraries
  gen      regenerate the operator sources
  test     all tests; arguments go to go test (-run X, ./torch/...)
  deep     what CI runs besides: fuzzing, other versions of libtorch, sanitizers, AVX-512 emulated, the suites on memory and threads
  emulated the tests of compiled programs, with the kernels for AVX-512 on any processor; arguments go to go test
  parity   every operator against Python, all samples of its test database; -update writes docs/parity.md
  versions the core suites on the newest patch of every libtorch we know, or on those given; -update writes
           their rows of docs/versions.md; other flags go to go test
  core     the core suites, or the packages given, on LIBTORCH_VERSION
  bench    our side and Python's, paired; arguments go to the benchmark
  rivals   fetch ONNX Runtime, OpenVINO, FastAPI and LitServe to third_party/rivals, which nothing else needs
  programs compiled programs beside theirs and Python's; arguments go to the benchmark
  page PHOTO.jpeg  look at the server's page with Chromium, upload the photograph; pictures of the page in dist/page
  reliability  the suites on memory, threads and faults; writes RELIABILITY.md (-short: the sizes of CI)
  fuzz     calls that nobody would write, between guard pages, in processes that may die (-time 10m, -calls N, -only RE, -seed S)
  bundle   dist/bundle: compiled tests and trainer for a machine without Go
  clean    remove what this script made, except the cache

  --cuda   fetch the CUDA libraries too (the default where there is an NVIDIA driver)
  --cpu    do without them
  --home DIR    put libtorch and the shim there instead of into third_party, which may then be read-only
  --torch DIR   unpack libtorch itself there instead of into the home: homes can share it
  --wheels DIR  take the wheels from there, and nothing from the network
  --lean        build what this machine can use, as libtorch install does: without an NVIDIA driver, or --cuda, no CUDA shim

environment:
  LIBTORCH=DIR             use this libtorch: Python's torch folder or an unpacked zip
  LIBTORCH_VERSION=X.Y.Z   one of $LIBTORCH_KNOWN;
                           other than the default it lives in third_party/X.Y.Z
  PYTHON, CXX              the Python and the C++ compiler to use (python3, c++)
  ASAN=1                   build the shim instrumented, to lib-asan/
  XDG_CACHE_HOME           downloads are kept in \$XDG_CACHE_HOME/libtorch-go (~/.cache/libtorch-go)
EOF
}

# shellcheck source=third_party/versions.env
. third_party/versions.env
# shellcheck source=third_party/scripts/common.sh
. third_party/scripts/common.sh
# shellcheck source=third_party/scripts/libtorch.sh
. third_party/scripts/libtorch.sh
# shellcheck source=third_party/scripts/peer.sh
. third_party/scripts/peer.sh
# shellcheck source=third_party/scripts/check.sh
. third_party/scripts/check.sh
# shellcheck source=third_party/scripts/rivals.sh
. third_party/scripts/rivals.sh
# shellcheck source=third_party/scripts/versions.sh
. third_party/scripts/versions.sh
# shellcheck source=third_party/scripts/reliability.sh
. third_party/scripts/reliability.sh
# shellcheck source=third_party/scripts/bundle.sh
. third_party/scripts/bundle.sh

bench() { go run ./bench "$@"; }

parity() { go test ./internal/parity -timeout 90m -v -full "$@"; }

fuzz() { go run ./internal/fuzz/cmd "$@"; }

# page PHOTO: the server's page, with a browser that has no window.
page() {
	local photo=${1:-}
	[[ $photo == /* ]] || photo=$started/$photo
	[[ $# -eq 1 && -f $photo ]] || die "page takes a photograph to upload (./build.sh help)"
	type chromium >/dev/null 2>&1 || die "chromium is not in the PATH: apt-get install chromium"
	PAGE_PHOTO=$photo PAGE_PICTURES=$root/dist/page go -C cmd/serve/browser test -count=1 -v .
}

gen() { go run ./cgo/gen -yaml "$(operator_list)" "$@"; }

clean() {
	rm -rf dist third_party/{libtorch,headers,lib,lib-asan,lib-emulated,asan,emulated,peer,rivals,obj,obj-asan,tools}{,.partial,.old}
	rm -rf third_party/[0-9]*.[0-9]*.[0-9]*/
}

# The steps of each verb; arguments go to the last.
declare -A steps=(
	[default]="deps shim" [deps]="deps" [shim]="deps shim" [peer]="deps peer" [gen]="deps gen"
	[test]="deps shim peer checks" [deep]="deps shim peer deep" [emulated]="deps shim peer emulated" [parity]="deps shim peer parity" [bench]="deps shim peer bench" [rivals]="deps peer rivals" [programs]="deps shim peer rivals programs" [page]="deps shim page" [bundle]="deps shim bundle" [clean]="clean"
	[versions]="versions" [core]="deps shim peer core" [fuzz]="deps shim peer fuzz"
	[reliability]="deps shim peer asan reliability"
)

# folder --NAME DIR: one of the options that name a folder, from where this script was started.
folder() {
	[[ $# -gt 1 && -n $2 ]] || die "$1 takes a folder (./build.sh help)"
	local dir=$2
	[[ $dir == /* ]] || dir=$started/$dir
	case $1 in
	--home) home=$dir LIBTORCH_GO_HOME=$dir ;;
	--torch) unpacked=$dir ;;
	--wheels) offline=(--from "$dir") ;;
	esac
}

main() {
	trap 'echo >&2; die "interrupted; run again to go on"' INT
	local verb=''
	while [[ $# -gt 0 ]]; do
		case $1 in
		--cpu | --cuda) cuda=${1#--} ;;
		--lean) lean=1 ;;
		--home | --torch | --wheels) folder "$@" && shift ;;
		-h | --help | help) usage && return ;;
		*)
			[[ -z $verb ]] || break
			verb=$1
			;;
		esac
		shift
	done
	verb=${verb:-default}
	[[ -n ${steps[$verb]:-} ]] || die "unknown verb or option $verb (./build.sh help lists them)"
	[[ " gen test deep emulated parity versions core bench programs fuzz page reliability bundle " != *" $verb "* ]] || need_go
	[[ $# -eq 0 || " gen test emulated parity versions core bench programs fuzz page reliability " == *" $verb "* ]] || die "unexpected argument $1 (./build.sh help)"
	local all
	read -ra all <<<"${steps[$verb]}"
	[[ " ${all[*]} " != *" peer "* ]] || for_peer=(--same-python)
	for name in "${all[@]:0:${#all[@]}-1}"; do
		step "$name"
	done
	step "${all[-1]}" "$@"
}

main "$@"
