//go:build !linux || !amd64

package jit

import "errors"

// confine fails: what holds a process is known for Linux on x86-64.
func confine() error { return errors.New("that takes Linux on x86-64") }
