#!/usr/bin/env bash
# overhead: what a server takes of the processors for a request with 150 KB to a model that does nothing, cmd/serve beside FastAPI, in turns, and
# asked by as many clients as in bench/services.sh.
#
#     bench/overhead.sh [ROUNDS [SECONDS [CLIENTS]]]
#
# Needs ./build.sh rivals.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3} seconds=${2:-10} clients=${3:-16}
export PYTHONPATH=$PWD/third_party/rivals${PYTHONPATH:+:$PYTHONPATH}
python=third_party/peer/python
dir=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; rm -rf "$dir"' EXIT
go build -o "$dir" ./cmd/serve ./cmd/libtorch
"$python" bench/python/service.py export "$dir" fast 2>"$dir/export.log" || { cat "$dir/export.log" >&2; exit 1; }
export LIBTORCH_GO_HOME=${LIBTORCH_GO_HOME:-$PWD/third_party}
"$dir/serve" -models "$dir/fast" -addr localhost:8750 -log warn &
pids+=($!)
OMP_NUM_THREADS=1 "$python" bench/python/service.py fastapi 8751 &
pids+=($!)
for port in 8750 8751; do
	for _ in $(seq 600); do
		curl -sf "localhost:$port/v2/models/null" >/dev/null && break
		sleep 0.1
	done
done
echo "load average: $(cut -d' ' -f1-3 /proc/loadavg)"
for _ in $(seq "$rounds"); do
	for side in 0 1; do
		echo "== $([[ $side == 0 ]] && echo cmd/serve || echo FastAPI)"
		"$dir/libtorch" load -c "$clients" -d "${seconds}s" -pid "${pids[$side]}" "http://localhost:875$side/v2/models/null"
	done
done
