#!/usr/bin/env bash
# examples: every example as its README has it, one after another: how each ends, how long it took and how much processor time.
#
#     bench/examples.sh [-photos FOLDER] [-results FOLDER] [NAME...]
#
# FOLDER has Imagenette's ten classes of photographs in train and val; without it imagenet and finetune are left out. What finetune begins with, imagenet
# has learned from eight of the classes before; it learns the other two. The datasets are obtained before anything is timed. All that is printed is
# kept in FOLDER/examples/NAME.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
photos= results=
while [[ ${1:-} == -* ]]; do
	case $1 in
	-photos) photos=$(realpath "$2") ;;
	-results) results=$(realpath "$2")/examples ;;
	*)
		echo "examples: $1 is none of -photos and -results" >&2
		exit 2
		;;
	esac
	shift 2
done
wanted=" $* "
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: "${results:=$dir/results}"
mkdir -p "$results"
export LIBTORCH_GO_HOME=${LIBTORCH_GO_HOME:-$PWD/third_party}
for package in ./examples/*/ ./cmd/torchrun ./cmd/libtorch; do
	go build -o "$dir/" "$package"
done
cd "$dir"

# example NAME COMMAND...: its last line and both times as a row of a table.
example() {
	local name=$1 text=$results/$1.txt TIMEFORMAT='%R %U %S' wall user system
	shift
	[[ $wanted == "  " || $wanted == *" $name "* ]] || return 0
	if ! { time "$@" >"$text" 2>&1; } 2>"$dir/time"; then
		tail -n 5 "$text" >&2
		echo "examples: $name failed" >&2
		exit 1
	fi
	read -r wall user system <"$dir/time"
	printf '| %s | %.1f s | %.1f s | %s |\n' "$name" "$wall" "$(awk "BEGIN { print $user + $system }")" "$(grep -v '^ *$' "$text" | tail -n 1)" | tee -a "$text"
}

# classes TO NAME...: a folder with these of the classes.
classes() {
	local to=$1 part name
	shift
	for part in train val; do
		mkdir -p "$to/$part"
		for name; do
			cp -r "photos/$part/$name" "$to/$part/"
		done
	done
}

# imagenet FOLDER PHOTOS: the run of examples/imagenet/README.md.
imagenet() {
	./imagenet -data "$2" -arch shufflenet_v2_x0_5 -b 32 -epochs 6 -opt adamw -lr 0.003 -wd 0.05 -lr-scheduler cosineannealinglr -lr-warmup-epochs 1 \
		-label-smoothing 0.1 -train-crop-size 64 -val-resize-size 72 -val-crop-size 64 -model-ema -model-ema-steps 8 -model-ema-decay 0.99 -save-every 20 \
		-threads 1 -j 1 -output-dir "$1"
}

echo "load average: $(cut -d' ' -f1-3 /proc/loadavg)"
./mnist -limit 64 >/dev/null
./cifar10 -limit 8 >/dev/null
echo '| example | took | processor time | its last line |'
echo '|---|---|---|---|'
example quickstart ./quickstart
example linear ./linear
example cifar10 ./cifar10
example mnist ./mnist
example customloss ./customloss
example customfunction ./customfunction
example accumulate ./accumulate -b 16 -accumulate 4
example vae ./vae
example dcgan ./dcgan
example charlm ./charlm
example resnet18 ./resnet18 -save run.pt
example ddp ./torchrun --standalone --nproc-per-node 2 ./ddp -n 200 -b 16
example customkernel ./customkernel
if [[ $photos ]]; then
	ln -s "$photos" photos
	example imagenet imagenet run photos
	if [[ $wanted == "  " || $wanted == *" finetune "* ]]; then
		mapfile -t names < <(ls photos/train)
		classes eight "${names[@]:0:8}"
		classes two "${names[@]:8}"
		imagenet learned eight >/dev/null
		mapfile -t kept < <(printf '%s\n' learned/*/checkpoint.pt | sort -V)
		./libtorch convert -part model "${kept[-1]}" eight.pth >/dev/null
		example finetune ./finetune -data two -arch shufflenet_v2_x0_5 -weights eight.pth -crop 64 -epochs 10
	fi
fi
