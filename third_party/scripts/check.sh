# test and deep: what CI runs.
# shellcheck shell=bash disable=SC2154

# Packages where goroutines meet, and gotorch's own tests: they are run once more under the race detector.
RACE=${RACE:-./cgo ./torch ./torch/data ./amp ./internal/gotorch}

# checks [ARGUMENT]...: the verb test.
checks() {
	local arg flags=() packages=()
	for arg in "$@"; do
		case $arg in
		./*) packages+=("$arg") ;;
		*) flags+=("$arg") ;;
		esac
	done
	if [[ ${#packages[@]} -eq 0 ]]; then
		step generated
		step formatted
		step vet
	fi
	step tests "${flags[@]}" "${packages[@]:-./...}"
	if [[ ${#packages[@]} -eq 0 ]]; then
		step road
		step race "${flags[@]}"
	fi
	echo "==> all passed"
}

# deep: what CI runs besides and a change seldom breaks: inputs that nobody would write, other versions of
# libtorch, sanitizers and the suites on memory and threads.
deep() {
	step readers
	step fuzzed
	step oldest_and_newest
	step emulated
	step asan
	step hardened
	echo "==> all passed"
}

# The committed sources are generated from the default version's list of operators.
generated() {
	if [[ $version != "$LIBTORCH_DEFAULT" || ! -e $(operator_list) ]]; then
		echo "    left out: it takes libtorch $LIBTORCH_DEFAULT"
		return
	fi
	gen -check || die "generated files are not as generated: run ./build.sh gen and commit the result"
}

formatted() {
	local files
	files=$(git ls-files -z '*.go' | xargs -0 -r gofmt -l)
	[[ -z $files ]] || die "not formatted by gofmt: ${files//$'\n'/ }"
}

vet() { go vet ./...; }

tests() { go test -timeout 20m "$@"; }

race() {
	local package packages=()
	for package in $RACE; do
		! compgen -G "$package/*_test.go" >/dev/null || packages+=("$package")
	done
	[[ ${#packages[@]} -eq 0 ]] || go test -race -timeout 20m "$@" "${packages[@]}"
}

# readers: Go's fuzzer bends files that the readers of weights get, half a minute each; longer runs are
# those of the tests named Mutations.
readers() {
	local package
	for package in ./torch/pt ./torch/safetensors; do
		go test "$package" -run '^$' -fuzz '^FuzzRead$' -fuzztime "${READERS:-30s}" -fuzzminimizetime 10x -timeout 5m
	done
}

# fuzzed: calls of a seed that is new with each commit, so that who made the commit can see beforehand what CI will
# see. The calls that broke something once are all made by the tests of internal/fuzz.
fuzzed() {
	local seed
	seed=$(git rev-parse --short=12 HEAD 2>/dev/null) || seed=$RANDOM
	fuzz -time "${FUZZED:-2m}" -seed "$((16#$seed))"
}

# emulated [ARGUMENT]...: the tests of compiled programs with the kernels for AVX-512, emulated, whatever the processor.
# One is left out that takes oneDNN's kernels of eight bits as well, which go by the processor that there is.
emulated() {
	compile "$home/obj" torchgo_emulated
	cp "$home/lib/version.txt" "$home/lib-emulated"
	beside emulated
	LIBTORCH_GO_HOME=$home/emulated LIBTORCH_GO_EMULATED=1 tests ./torch/export -skip '^TestInt8Gates$' "$@"
}

# road: what README says of a user's own module, from an empty home to a program that is shipped.
road() {
	if [[ $version != "$LIBTORCH_DEFAULT" || -n ${LIBTORCH:-} ]]; then
		echo "    left out: README's commands install libtorch $LIBTORCH_DEFAULT"
		return
	fi
	go test ./internal/road -road -count=1 -timeout 20m
}
