# What all parts of build.sh share. Sourced by it, with versions.env before.
# shellcheck shell=bash disable=SC2034

die() {
	echo "build.sh: $*" >&2
	exit 1
}

# step NAME [ARG]...: runs the function NAME and says how long it took.
step() {
	local start=${EPOCHREALTIME/[.,]/}
	echo "==> $1"
	"$@"
	local tenths=$(((${EPOCHREALTIME/[.,]/} - start) / 100000))
	echo "    $1: $((tenths / 10)).$((tenths % 10)) s"
}

has() { command -v "$1" >/dev/null 2>&1; }

need_go() { has go || die "there is no go: install Go 1.26 or later"; }

cache=${XDG_CACHE_HOME:-$HOME/.cache}/libtorch-go
python=${PYTHON:-python3}
cuda=auto # or cpu, cuda: the option given
for_peer=() # --same-python where the Python peer is to be built on the wheels
lean=       # 1 where only what this machine can use is to be built: the option given
offline=()  # --from DIR where wheels come from a folder: the option given
unpacked='' # where libtorch itself is unpacked: the option given, or the home's libtorch

version=${LIBTORCH_VERSION:-$LIBTORCH_DEFAULT}
[[ " $LIBTORCH_KNOWN " == *" $version "* ]] || die "LIBTORCH_VERSION is $version; known are $LIBTORCH_KNOWN"
# home_of VERSION: the folder for all that belongs to it.
home_of() {
	[[ $1 == "$LIBTORCH_DEFAULT" ]] && echo "$root/third_party" || echo "$root/third_party/$1"
}
home=$(home_of "$version")
export LIBTORCH_GO_HOME=$home

# pins KIND [VERSION]: the list of that kind for a libtorch version, from versions.env.
pins() {
	local known=${2:-$version}
	[[ " $LIBTORCH_KNOWN " == *" $known "* ]] || known=$version
	local name=$1_${known//./_}
	echo "${!name}"
}

# wheels DEST [OPTION]... PINS: the wheels of these pins, unpacked; see wheels.py.
wheels() {
	has "$python" || die "there is no $python: install Python 3.10 or later (Debian, Ubuntu: apt install python3 python3-pip), or set PYTHON"
	[[ $(uname -sm) == "Linux x86_64" ]] || die "the wheels are for Linux x86_64, this is $(uname -sm): set LIBTORCH to a libtorch of your own"
	"$python" third_party/scripts/wheels.py "$cache/wheels" "${offline[@]}" "$@"
}
