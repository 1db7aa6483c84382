#!/usr/bin/env bash
# cifar: how far one epoch of all of CIFAR-10 gets by the recipe of examples/cifar10 -fast, and how long it takes; then the same program in Python.
#
#     bench/cifar.sh [IMAGES [EPOCHS [BATCH]]]     0 images are all 50,000; one epoch in batches of 128
#
# Each side's last line is " * Acc@1 PERCENT after TIME"; loading the images is not in it. PYTHON is a Python with torch, or else that of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
images=${1:-0} epochs=${2:-1} batch=${3:-128}
python=${PYTHON:-third_party/peer/python}
data=${XDG_CACHE_HOME:-$HOME/.cache}/libtorch-go/datasets
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/cifar10" ./examples/cifar10
export LIBTORCH_GO_HOME=${LIBTORCH_GO_HOME:-$PWD/third_party}
echo "load average: $(cut -d' ' -f1-3 /proc/loadavg)"
echo "== Go"
"$dir/cifar10" -fast -data "$data" -limit "$images" -epochs "$epochs" -b "$batch" -p 20
echo "== Python"
"$python" bench/python/cifar.py "$data" "$images" "$epochs" "$batch"
