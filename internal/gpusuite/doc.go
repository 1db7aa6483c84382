// Package gpusuite has the tests that need a card; without one they are skipped. In the bundle they
// are a program that needs no Go and no compiler; ./gpu-suite runs them there, together with the
// parity of operators and autocast on the card, and command gpureport makes a page and a JSON file
// of the results.
//
//	./build.sh bundle && cd dist/bundle && ./gpu-suite results
//	go test ./internal/gpusuite -v        # on a machine with a card and Go
//
// It has run on an H100: bench/README.md, "On a card", has what came of it.
package gpusuite
