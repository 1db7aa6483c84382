//go:build !torchdebug

package cgo

// Without the tag torchdebug nothing records where a handle was made.
func trace(*Handle)   {}
func untrace(*Handle) {}

func life(*Handle) string { return " (a program built with -tags torchdebug is told where)" }

// Origins lists where the open handles were made; empty without the tag torchdebug.
func Origins() []string { return nil }
