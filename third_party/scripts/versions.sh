# versions, core and oldest_and_newest: the versions of libtorch that the README promises.
# shellcheck shell=bash disable=SC2154

# The core suites are columns of docs/versions.md: a package belongs to the one that is named last in its path.
SUITES="cgo torch nn optim amp data"
CORE="./cgo ./torch ./torch/torchtest ./torch/safetensors ./torch/linalg ./torch/fft ./torch/special ./torch/nn/... ./torch/optim/... ./amp ./torch/data"

# newest_patches: the last known patch version of each minor one.
newest_patches() {
	local known last=''
	for known in $LIBTORCH_KNOWN; do
		[[ -z $last || ${known%.*} == "${last%.*}" ]] || echo "$last"
		last=$known
	done
	echo "$last"
}

# on VERSION VERB [ARGUMENT]...: this script for another libtorch, which it fetches.
on() {
	local options=()
	[[ $cuda == auto ]] || options=("--$cuda")
	env -u LIBTORCH -u LIBTORCH_GO_HOME LIBTORCH_VERSION="$1" "$root/build.sh" "${options[@]}" "${@:2}"
}

# core [ARGUMENT]...: the core suites on this version, counted by suite; arguments go to go test, and
# packages among them stand for all.
core() {
	local arg flags=() packages=()
	for arg in "$@"; do
		case $arg in
		./*) packages+=("$arg") ;;
		*) flags+=("$arg") ;;
		esac
	done
	[[ ${#packages[@]} -gt 0 ]] || read -ra packages <<<"$CORE"
	# shellcheck disable=SC2086 # a list of words
	go test -json -count=1 -timeout 20m "${flags[@]}" "${packages[@]}" |
		"$python" third_party/scripts/count.py "$(row_file "$version")" "$version" "$(date -u +%F)" "$(commit)${flags[*]:+, ${flags[*]}}" compiles -- $SUITES
}

row_file() { echo "$(home_of "$1")/obj/core.txt"; }

# commit: the one that is checked out; "and changes" where files differ from it.
commit() {
	echo "$(git rev-parse --short=9 HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ' and changes')"
}

# versions [-update] [FLAG]... [VERSION]...: core on each, by default on the newest patch versions.
# -update writes their rows of docs/versions.md.
versions() {
	local arg one flags=() wanted=() failed='' update=''
	for arg in "$@"; do
		case $arg in
		-update) update=1 ;;
		-*) flags+=("$arg") ;;
		*) wanted+=("$arg") ;;
		esac
	done
	[[ ${#wanted[@]} -gt 0 ]] || mapfile -t wanted < <(newest_patches)
	for one in "${wanted[@]}"; do
		mkdir -p "$(home_of "$one")/obj"
		# shellcheck disable=SC2086 # a list of words
		echo "| $one | $(date -u +%F) | $(commit) | not built |$(printf ' |%.0s' $SUITES seconds)" >"$(row_file "$one")"
		on "$one" core "${flags[@]}" || failed+=" $one"
	done
	for one in "${wanted[@]}"; do cat "$(row_file "$one")"; done
	[[ -z $update ]] || versions_page "${wanted[@]}" | replace docs/versions.md
	[[ -z $failed ]] || die "not all is well on libtorch$failed; see above"
}

# oldest_and_newest [FLAG]...: the part of it that CI runs besides everything on the default version: the oldest
# version compiles, the newest one passes the core suites.
oldest_and_newest() {
	local oldest=${LIBTORCH_KNOWN%% *} newest=${LIBTORCH_KNOWN##* }
	if [[ $version != "$LIBTORCH_DEFAULT" || -n ${LIBTORCH:-} ]]; then
		echo "    left out: it goes with libtorch $LIBTORCH_DEFAULT"
		return
	fi
	[[ $oldest == "$version" ]] || on "$oldest" shim
	[[ $newest == "$version" ]] || on "$newest" core -short "$@"
}

# versions_page VERSION...: docs/versions.md with new rows for these versions and the rows of the others as they are.
versions_page() {
	local one
	cat <<-EOF
		# Versions of libtorch

		Written by \`./build.sh versions -update\`: the same sources, compiled for each version and held against Python of
		that version, with the tests of the core suites on the CPU. A row tells the day of its run, the
		commit, and flags of go test; what is not in the table was not run.

		| libtorch | date | commit | shim | ${SUITES// / | } | seconds, all packages |
		|---|---|---|---|$(printf -- '---|%.0s' $SUITES)---|
	EOF
	for one in $(newest_patches); do
		if [[ " $* " == *" $one "* ]]; then
			cat "$(row_file "$one")"
		else
			grep -F "| $one |" docs/versions.md 2>/dev/null || true
		fi
	done
	cat <<-EOF

		## What differs

		The sources know of differences in three places, and ask for the version nowhere else: \`cgo/shim/compat.h\` (C++),
		\`cgo/gen/versions.txt\` (operators that are gone, which are errors of kind NotImplemented there) and \`internal/versions\`
		(what libtorch and its Python do; tests and code ask by name):

	EOF
	sed -n 's/.*Difference{"\(.*\)", \([0-9]\)\([0-9]*\)}$/- from \2.\3 on: \1/p' internal/versions/versions.go
	sed -n 's/^\t{\([0-9]\)\([0-9]*\), "\(.*\)", torch\.Kind.*/- from \1.\2 on: another error for \3/p' internal/versions/words.go
}
