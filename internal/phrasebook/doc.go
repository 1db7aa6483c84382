// Package phrasebook holds docs/pytorch.md against Python: how the calls that PyTorch's users
// write most are written in Go.
//
// A phrase is a line of Python and a Go function literal in a table of a test. The test runs both, on
// the same libtorch and from the same seed, and compares what they return to the last bit:
// values, dtypes, shapes, strides. The page is made of the very source of the literals, so it cannot
// tell anything that was not run.
//
//	go test ./internal/phrasebook            # runs all phrases, and compares the page
//	go test ./internal/phrasebook -update    # writes the page
//
// A phrase is added as a line of a table; prose is in testdata/page.md.
package phrasebook
