# versions and core: the core suites on every version of libtorch that the README promises.
# shellcheck shell=bash disable=SC2154

CORE=${CORE:-./cgo ./torch ./torch/torchtest ./torch/nn/... ./torch/optim/... ./torch/data ./torch/safetensors ./amp}

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

# core [FLAG]...: the core suites on this version, counted; flags go to go test.
core() {
	# shellcheck disable=SC2086 # a list of words
	go test -json -count=1 -timeout 20m "$@" $CORE | "$python" third_party/scripts/count.py "$version" "$home/obj/core.txt"
}

# versions [-update] [-short]... [VERSION]...: core on each, by default on the newest patch versions.
versions() {
	local arg one flags=() wanted=() table=$root/third_party/obj/versions.md failed='' update=''
	for arg in "$@"; do
		case $arg in
		-update) update=1 ;;
		-*) flags+=("$arg") ;;
		*) wanted+=("$arg") ;;
		esac
	done
	[[ -z $update || ${#wanted[@]} -eq 0 ]] || die "versions -update writes the table of all versions: name none"
	[[ ${#wanted[@]} -gt 0 ]] || mapfile -t wanted < <(newest_patches)
	mkdir -p "$root/third_party/obj"
	versions_head >"$table"
	for one in "${wanted[@]}"; do
		rm -f "$(home_of "$one")/obj/core.txt"
		on "$one" core "${flags[@]}" || failed+=" $one"
		cat "$(home_of "$one")/obj/core.txt" >>"$table" 2>/dev/null || echo "| $one | does not build | | | |" >>"$table"
	done
	sed -n '/^|/p' "$table"
	[[ -z $failed ]] || die "not all is well on libtorch$failed; see above"
	[[ -z $update ]] || mv "$table" docs/versions.md
}

versions_head() {
	cat <<-EOF
		# Versions of libtorch

		Written by \`./build.sh versions -update\`: the same sources, compiled for each version and held against Python of
		that version. The suites are those of \`${CORE//.\//}\`. What differs between versions is in
		\`cgo/shim/compat.h\`, \`cgo/gen/versions.txt\` (operators) and \`internal/versions\`.

		| libtorch | tests passed | failed | skipped | seconds, all packages |
		|---|---|---|---|---|
	EOF
}
