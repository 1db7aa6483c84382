// Package fuzz looks for calls that end the process, never come back, read or write outside
// memory, panic with anything but a *torch.Error, or leave handles, bytes or a mode behind.
//
//	./build.sh fuzz -time 10m
//
// A call is a [Case]: text, that anyone can read and that says all there is to say. Samples of
// operators come from PyTorch's own test database (testdata/samples.txt, written by
// python/record.py), those of other functions are by hand (testdata/seeds.txt); chance changes
// dtypes, shapes, layouts, elements, numbers, lists, options. Which call has which number
// is a matter of the seed alone, so that any can be made again.
//
// Calls are made in children (child.go), which note the number of each in memory that the
// parent shares: so it knows which call a child died of, and starts another behind it
// (driver.go). A call is made twice, once between guard pages (cgo/shim/guardpages.cc) and
// once without: results and gradients have to be the same, and afterwards handles, bytes and
// modes as before. What is found is made small (minimise.go) and written as it stands in Go,
// with what Python says to the same call (explain.go, python/ask.py).
//
// Cases that once did harm are in testdata/corpus.txt, and a test of this package makes them all.
package fuzz
