# deps and shim: libtorch itself and the library between it and Go.
# shellcheck shell=bash disable=SC2154

has_driver() {
	[[ -e /proc/driver/nvidia/version ]] || has nvidia-smi || ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'
}

want_cuda() { [[ $cuda == cuda ]] || { [[ $cuda == auto ]] && has_driver; }; }

deps() {
	if [[ -n ${LIBTORCH:-} ]]; then
		check_libtorch "$LIBTORCH"
		echo "    libtorch $(version_of "$LIBTORCH") in $LIBTORCH, as LIBTORCH says; nothing to fetch"
		return
	fi
	local specs exact=()
	specs=$(pins CPU)
	! want_cuda || specs+=" $(pins CUDA)"
	[[ $cuda != cpu ]] || exact=(--exact)
	wheels "$(libtorch_dir)" "${exact[@]}" "${for_peer[@]}" "$specs"
	echo "    libtorch $version in $(short "$(libtorch_dir)"), $(cuda_state)"
}

libtorch_dir() { echo "${unpacked:-$home/libtorch}"; }

# short PATH: as one names it in the checkout.
short() { echo "${1#"$root"/}"; }

cuda_state() {
	if compgen -G "$(libtorch_dir)/nvidia/cudnn*" >/dev/null; then
		echo "with the CUDA libraries"
	else
		echo "without the CUDA libraries ($(no_cuda "fetches them"))"
	fi
}

# no_cuda WHAT: why CUDA is left out, where it is not wanted, and what --cuda does otherwise.
no_cuda() {
	if [[ $cuda == cpu ]]; then
		echo "--cpu"
	else
		echo "no NVIDIA driver here; --cuda $1"
	fi
}

torch_dir() { echo "${LIBTORCH:-$(libtorch_dir)/torch}"; }

# operator_list: the list of operators that comes with libtorch, where it does.
operator_list() { echo "$(torch_dir)/../torchgen/packaged/ATen/native/native_functions.yaml"; }

# version_of DIR: the version of the libtorch there, from its headers.
version_of() {
	{ cat "$1"/include/torch/headeronly/version.h "$1"/include/torch/csrc/api/include/torch/version.h 2>/dev/null || true; } |
		awk '$2 == "TORCH_VERSION_MAJOR" && !a { a = $3 } $2 == "TORCH_VERSION_MINOR" && !b { b = $3 }
			$2 == "TORCH_VERSION_PATCH" && !c { c = $3 } END { if (a) print a "." b "." c+0 }'
}

check_libtorch() {
	[[ -e $1/lib/libtorch_cpu.so && -d $1/include ]] ||
		die "LIBTORCH is $1, which is no libtorch: it has no lib/libtorch_cpu.so and include/ (Python's: python3 -c 'import torch; print(torch.__path__[0])')"
	local found
	found=$(version_of "$1")
	[[ -z ${LIBTORCH_VERSION:-} || $found == "$LIBTORCH_VERSION" ]] ||
		die "wrong libtorch version: LIBTORCH_VERSION is $LIBTORCH_VERSION, the one in $1 is ${found:-unknown}"
	[[ -n $found && " $LIBTORCH_KNOWN" == *" ${found%.*}."* ]] ||
		die "wrong libtorch version: the one in $1 is ${found:-unknown}; this project builds on $LIBTORCH_KNOWN"
}

shim() {
	local torch found headers='' suffix='' warnings=ON
	torch=$(torch_dir)
	[[ -e $torch/lib/libtorch_cpu.so || -n ${LIBTORCH:-} ]] || die "there is no libtorch in $torch: run ./build.sh deps"
	check_libtorch "$torch"
	found=$(version_of "$torch")
	[[ -z ${ASAN:-} ]] || suffix=-asan
	[[ -z $lean ]] || warnings=OFF
	local lib=$home/lib$suffix obj=$home/obj$suffix
	tools
	! cuda_shim_wanted "$torch" "$found" || headers=$home/headers/nvidia/cu13/include
	mkdir -p "$lib"
	configure "$obj" -DLIBTORCH="$torch" -DTG_TORCH_VERSION="$(number_of "$found")" -DOUT="$lib" \
		-DCMAKE_CXX_COMPILER="$compiler" -DCUDA_HEADERS="$headers" -DASAN="${ASAN:-0}" -DWARNINGS="$warnings"
	compile "$obj"
	echo "$found" | replace "$lib/version.txt"
	if [[ $torch != "$home/libtorch/torch" ]]; then
		(cd "$torch" && pwd) | replace "$lib/torch.path"
	else
		rm -f "$lib/torch.path"
	fi
	[[ -n $headers ]] || rm -f "$lib/libtorchgo_cuda.so"
	[[ -z ${ASAN:-} ]] || rm -f "$lib/libtorchgo_heap.so"
	echo "    $(short "$lib")/libtorchgo${headers:+{,_cuda\}}.so for libtorch $found"
}

# cuda_shim_wanted TORCH VERSION: whether the CUDA shim can be built, too. It takes no GPU
# and no CUDA toolkit, but headers, which come with wheels. Whoever develops compiles it everywhere, and so does who has
# brought a libtorch, which may go on to another machine.
cuda_shim_wanted() {
	if [[ -n $lean && -z ${LIBTORCH:-} ]] && ! want_cuda; then
		echo "    no CUDA shim: $(no_cuda "builds it")"
	elif [[ ! -e $1/lib/libtorch_cuda.so ]]; then
		echo "    no CUDA shim: this libtorch is for the CPU alone"
	elif ! (wheels "$home/headers" "$(pins HEADERS "$2")"); then
		echo "    no CUDA shim: its headers could not be fetched"
	else
		return 0
	fi
	return 1
}

# number_of 2.11.0: 21100
number_of() {
	local major minor patch
	IFS=. read -r major minor patch <<<"$1"
	echo $((major * 10000 + minor * 100 + patch))
}

# replace FILE: writes standard input there, if that changes it.
replace() {
	local text
	text=$(cat)
	[[ -e $1 && $(<"$1") == "$text" ]] || echo "$text" >"$1"
}

# tools finds a compiler, and CMake and Ninja, which it fetches where there are none.
tools() {
	compiler=${CXX:-$(command -v c++ || command -v g++ || command -v clang++ || true)}
	[[ -n $compiler ]] || die "there is no C++ compiler: install g++ 11 or later (Debian, Ubuntu: apt install g++), or set CXX"
	echo 'int main() { return __cplusplus < 202002L; }' | "$compiler" -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1 ||
		die "the compiler $compiler does not do C++20: install g++ 11 or later, or set CXX"
	if has cmake && has ninja; then
		return
	fi
	wheels "$home/tools" "$TOOLS"
	PATH=$home/tools/bin:$home/tools/cmake/data/bin:$PATH
}

# configure DIR OPTION...: runs CMake, if it has not run with these options.
configure() {
	local dir=$1
	shift
	if [[ -e $dir/build.ninja && -e $dir/options && $(<"$dir/options") == "$*" ]]; then
		return
	fi
	mkdir -p "$dir"
	rm -f "$dir/CMakeCache.txt"
	cmake -S cgo/shim -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$dir/configure.log" 2>&1 ||
		die "CMake failed: $(grep -m1 -A2 'CMake Error' "$dir/configure.log" | tr '\n' ' ')(all of it: $dir/configure.log)"
	echo "$*" >"$dir/options"
}

# compile DIR [TARGET]: as many compilers as there are cores and memory for (1.5 GB each).
compile() {
	local jobs memory
	memory=$(awk '/MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
	jobs=$(nproc)
	[[ $memory -ge $jobs ]] || jobs=$((memory > 0 ? memory : 1))
	ninja -C "$1" -j "$jobs" ${2:+"$2"} 2>&1 | tee "$1/build.log" | show_progress || {
		cat "$1/build.log" >&2
		die "the shim does not compile: see above"
	}
}

# show_progress: what Ninja says, as a line that counts: on a terminal it stays in its place, else there is one a quarter.
show_progress() {
	local line done total quarter=0
	while read -r line; do
		[[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ Building ]] || continue
		done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
		if [[ -t 1 ]]; then
			printf '\r    compiled %d of %d' "$done" "$total"
		elif [[ $((4 * done / total)) -gt $quarter ]]; then
			quarter=$((4 * done / total))
			echo "    compiled $done of $total"
		fi
	done
	[[ ! -t 1 || -z ${total:-} ]] || echo
}
