# bundle: what a machine with Python's torch, but no Go, needs to run our tests and programs.
# shellcheck shell=bash disable=SC2154

# Tests of the source tree itself, which is not in the bundle.
SOURCE_TESTS="internal/lint internal/phrasebook internal/guides internal/home internal/road cgo/gen"

bundle() {
	local to=dist/bundle programs
	rm -rf "$to"
	mkdir -p "$to/bin" "$to/lib" "$to/tests"
	cp third_party/scripts/bundle/* "$to"
	cp "$home"/lib/*.so "$home/lib/version.txt" "$to/lib"
	programs=$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./examples/... ./cmd/... ./bench ./internal/gpusuite/...)
	# shellcheck disable=SC2086 # a list of words
	go build -ldflags='-s -w' -o "$to/bin" $programs
	bundle_tests "$to/tests"
	"$python" third_party/scripts/pack.py "$to/programs.tar.xz" "$to" bin tests
	echo "    $to: $(find "$to/tests" -name test | wc -l) test programs, $(du -sm --exclude=tests --exclude=bin "$to" | cut -f1) MB"
	rm -rf "$to/tests" "$to/bin"
}

# bundle_tests DIR: the compiled tests of every package, in a folder of its name with its
# testdata, so that they find there what they find in the source tree.
bundle_tests() {
	local folder folders
	install -D -m 644 cgo/shim/torchgo.h "$1/cgo/shim/torchgo.h" # some tests compile a shim of their own
	install -D -m 644 -t "$1/docs" docs/parity.md docs/modules.md         # what a run has to cover
	install -D -m 644 -t "$1/bench/python" bench/python/*.py              # Python's side of the benchmark's test
	folders=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...)
	for folder in $folders; do
		folder=${folder#"$root"/}
		[[ " $SOURCE_TESTS " != *" $folder "* ]] || continue
		mkdir -p "$1/$folder"
		go test -c -ldflags='-s -w' -o "$1/$folder/test" "./$folder"
		[[ ! -d $folder/testdata ]] || cp -r "$folder/testdata" "$1/$folder"
	done
}
