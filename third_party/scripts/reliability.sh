# reliability: the suites behind RELIABILITY.md, and what they take.
# shellcheck shell=bash disable=SC2154

# The suites that no other step of CI runs.
HARDENED='^(leaks|exported|cgocheck|finalizers|stress|asan)$'

# asan: the instrumented shim, in a home of its own beside the libtorch of all.
asan() {
	local name
	ASAN=1 shim
	mkdir -p "$home/asan"
	ln -sfn ../lib-asan "$home/asan/lib"
	for name in libtorch peer; do
		ln -sfn "../$name" "$home/asan/$name"
	done
}

# reliability [-short]...: runs all suites and writes the card.
reliability() { go run ./internal/reliability/card "$@"; }

hardened() { go run ./internal/reliability/card -short -only "$HARDENED" -o ''; }
