//go:build !torchdebug

package cgo

// Without the tag torchdebug nobody remembers where a handle was made.
func trace(*Handle)   {}
func untrace(*Handle) {}

// Origins lists where the open handles were made; empty without the tag torchdebug.
func Origins() []string { return nil }
