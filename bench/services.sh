#!/usr/bin/env bash
# services: ResNet-18 at 64 x 64 behind cmd/serve, beside FastAPI with torch, FastAPI with ONNX Runtime, and LitServe: the same network, the
# same batches (at most 16, 2 ms), the same client and bytes, in turns; Python's servers with one thread and with all.
#
#     bench/services.sh [ROUNDS [SECONDS [CLIENTS]]]
#
# Needs ./build.sh rivals. Each server runs alone, and its answers are compared before; the table has the median of the rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3} seconds=${2:-10} clients=${3:-16} cores=$(nproc) port=8760
export LIBTORCH_GO_HOME=${LIBTORCH_GO_HOME:-$PWD/third_party} PYTHONPATH=$PWD/third_party/rivals${PYTHONPATH:+:$PYTHONPATH}
python=third_party/peer/python
dir=$(mktemp -d) pid=
stop() {
	[[ -z $pid ]] || kill -- "-$pid" 2>/dev/null || true
	[[ -z $pid ]] || wait "$pid" 2>/dev/null || true
	[[ -z $pid ]] || kill -KILL -- "-$pid" 2>/dev/null || true # workers that outlive the one that started them
	pid=
}
trap 'stop; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
go build -o "$dir" ./cmd/serve ./cmd/libtorch
forms=(exact fast int8)
if ! { "$python" bench/python/service.py export "$dir" "${forms[@]}" && "$python" bench/python/service.py onnx "$dir/network.onnx"; } >"$dir/log" 2>&1; then
	cat "$dir/log" >&2
	exit 1
fi

# ask NAME COMMAND...: a server is started, compared, asked by all clients, and stopped.
ask() {
	local name=$1 url=http://localhost:$port/v2/models/resnet18 most=1e-4
	shift
	set -- "${@/PORT/$port}"
	[[ $name != *int8 ]] || most=5e-2
	setsid "$@" >"$dir/log" 2>&1 &
	pid=$!
	for _ in $(seq 600); do
		curl -sf "$url" >/dev/null && break
		sleep 0.1
	done
	if ! "$python" bench/python/service.py ask "$url" "$most" >"$dir/compared" 2>&1; then
		tail -n 5 "$dir/log" "$dir/compared" >&2
		exit 1
	fi
	"$dir/libtorch" load -c "$clients" -d "${seconds}s" -warm 2s "$url" >"$dir/figures"
	stop
	awk -v name="$name" 'NR == 1 { rate = $(NF-2) } $1 == "50" { half = $3 } $1 == "99" { most = $3 } END { print name "\t" rate "\t" half "\t" most }' \
		"$dir/figures" | tee -a "$dir/all"
	port=$((port + 1)) # the last one may not be free yet
}

echo "load average: $(cut -d' ' -f1-3 /proc/loadavg)"
for _ in $(seq "$rounds"); do
	for form in "${forms[@]}"; do
		ask "cmd/serve, $form" "$dir/serve" -models "$dir/$form" -addr "localhost:PORT" -log warn
	done
	for threads in 1 "$cores"; do
		ask "FastAPI, threads: $threads" env OMP_NUM_THREADS="$threads" "$python" bench/python/service.py fastapi PORT
		ask "FastAPI and ONNX Runtime, threads: $threads" env OMP_NUM_THREADS="$threads" "$python" bench/python/service.py onnxruntime PORT "$dir/network.onnx"
	done
	ask "LitServe, workers: 1, threads: $cores" env OMP_NUM_THREADS="$cores" "$python" bench/python/lit.py PORT 1
	ask "LitServe, workers: $cores, threads: 1" env OMP_NUM_THREADS=1 "$python" bench/python/lit.py PORT "$cores"
done
"$python" - "$dir/all" <<-'EOF'
	import statistics
	import sys

	rounds = {}
	for line in open(sys.argv[1]):
	    name, *figures = line.rstrip("\n").split("\t")
	    rounds.setdefault(name, []).append([float(f) for f in figures])
	print("| | answers a second | 50 % within, ms | 99 % within, ms |\n|---|---|---|---|")
	for name, figures in rounds.items():
	    print("|", name, "|", " | ".join(f"{statistics.median(f):.1f}" for f in zip(*figures)), "|")
EOF
