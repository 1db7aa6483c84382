//go:build !unix

package jit

// limit does nothing: there are no limits of processes here.
func (o *order) limit() error { return nil }
