// Package leaks holds no code: its tests call every exported function again and again and
// see that nothing is left. They are part of the card that package reliability describes.
//
// Operators are called with the first sample that PyTorch's own test database has for them
// (operators_test.go), everything else with the closures of cases_*_test.go: a new function
// takes a line there. Under a profile exported_test.go proves that none is missing:
//
//	go run ./internal/reliability/card -only 'leaks|exported' -o ''
//
// exceptions.txt names what cannot be called again and again, with the reason.
package leaks
