// Package parity holds every operator against Python's torch on the same libtorch.
//
// PyTorch ships the database of its own operator tests, op_db: for each operator, inputs
// that matter. python/record.py has Python make those calls, notes every call of an operator in
// them, those that operators make of each other and those of the backward pass included,
// and repeats each by itself for its results and gradients. Here they are replayed through
// the typed Go functions (package optable), and everything has to have the same bits:
// elements, shapes, strides, gradients, what was written in place, and for wrong arguments
// the kind of error and its words.
//
// The gradients of the same calls, in float64 and complex128, are held against finite
// differences as well (TestGradCheck), and what is left out there is what PyTorch's own
// gradcheck refuses, case for case.
//
//	go test ./internal/parity                 # some samples of each entry
//	go test ./internal/parity -full           # all samples, also ./build.sh parity
//	go test ./internal/parity -names '^fft'   # entries whose names match
//
// exceptions.go names what cannot be compared, with the reason. docs/parity.md is the result of
// the full run, written by it with -update.
package parity
