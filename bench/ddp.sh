#!/usr/bin/env bash
# ddp: how two ranks of ours and of Python's train ResNet-18 together, each in a network namespace of its own with a link of a limited rate
# between them: speed beside one rank, the share of the exchange that hides behind the backward pass, and what docs/scaling.md's model says.
#
#     sudo bench/ddp.sh [-results bench/results] [FLAGS OF bench/ddp: -rates "0 1000", -buckets "25 5", -rounds, -steps, -b, -size, -for 8m]
#     bench/ddp.sh -plain [FLAGS]
#
# Rates are in Mbit a second, 0 is not limited; buckets in MB. The sides take turns, and it ends within nine minutes: no round begins after
# -for. PYTHON, or else the Python of the tests, has torch and torchvision. Without root, ip and tc, or where these may not be used, it says
# so; then -plain measures without a limit, on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
plain=''
if [[ ${1:-} == -plain ]]; then
	plain=1
	shift
fi
die() {
	echo "ddp: $*" >&2
	exit 1
}
python=${PYTHON:-third_party/peer/python}
"$python" -c 'import torchvision' || die "$python lacks torch or torchvision: name one that has them with PYTHON"
export LIBTORCH_GO_HOME=${LIBTORCH_GO_HOME:-$PWD/third_party}
dir=$(mktemp -d) a=ddp$$a b=ddp$$b veth=veth$$
clean() {
	for n in $a $b; do
		ip netns del "$n" 2>/dev/null || true
		rm -rf "/etc/netns/$n"
	done
	rm -rf "$dir"
}
trap clean EXIT
go build -o "$dir/ddp" ./bench/ddp
if [[ -n $plain ]]; then
	"$dir/ddp" -python "$python" -rates 0 "$@"
	exit
fi

[[ $(id -u) == 0 ]] || die "network namespaces take root: sudo, or -plain without them"
for tool in ip tc; do
	command -v $tool >/dev/null || die "there is no $tool: install iproute2, or use -plain"
done
why=$(ip netns add "$a" 2>&1 && ip netns add "$b" 2>&1 && ip link add "$veth" netns "$a" type veth peer name "$veth" netns "$b" 2>&1) ||
	die "this machine permits no network namespaces (${why:-no reason given}): a container may need CAP_NET_ADMIN, CAP_SYS_ADMIN; or use -plain"
for i in "$a 1" "$b 2"; do
	read -r n host <<<"$i"
	# Libtorch asks for the names of addresses, and there no server answers: each would take many seconds.
	mkdir -p "/etc/netns/$n"
	printf '%s\n' "127.0.0.1 localhost" "10.77.0.1 $a" "10.77.0.2 $b" >"/etc/netns/$n/hosts"
	ip -n "$n" addr add "10.77.0.$host/24" dev "$veth"
	ip -n "$n" link set "$veth" up
	ip -n "$n" link set lo up
done
why=$(tc -n "$a" qdisc replace dev "$veth" root tbf rate 1gbit burst 256k latency 50ms 2>&1) ||
	die "tc cannot limit the rate ($why): the kernel lacks sch_tbf; or use -plain"
"$dir/ddp" -python "$python" -spaces "$a,$b,$veth" "$@"
