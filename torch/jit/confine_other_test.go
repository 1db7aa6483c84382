//go:build !(linux && amd64)

package jit_test

// hostileChild does nothing where nothing is confined.
func hostileChild() {}
