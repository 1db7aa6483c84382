# reliability: the suites behind RELIABILITY.md, and what they take.
# shellcheck shell=bash disable=SC2154

# The suites that no other step of CI runs.
HARDENED='^(leaks|exported|cgocheck|finalizers|stress|asan)$'

# asan: the instrumented shim. What the compiler has to say of it, it has said of the one that is not.
asan() { ASAN=1 lean=1 shim && beside asan; }

# beside NAME: a home for that shim, with the libtorch of all.
beside() {
	local name
	mkdir -p "$home/$1"
	ln -sfn "../lib-$1" "$home/$1/lib"
	for name in libtorch peer; do
		ln -sfn "../$name" "$home/$1/$name"
	done
}

# reliability [-short]...: runs all suites and writes the card.
reliability() { go run ./internal/reliability/card "$@"; }

hardened() { go run ./internal/reliability/card -short -only "$HARDENED" -o ''; }
