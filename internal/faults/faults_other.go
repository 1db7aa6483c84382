//go:build !linux || !amd64

package faults

import (
	"errors"
	"os/exec"
	"syscall"
)

// Kind is a way to fail: an errno, or [Short].
type Kind syscall.Errno

// Short has half of what a write is asked to write reach the file.
const Short Kind = 0

// Begin begins a round in the program under test.
func Begin() {}

// End ends it, and tells whether a call was made to fail.
func End() bool { return false }

// Run cannot trace programs here.
func Run(*exec.Cmd, string, Kind) (rounds int, err error) { return 0, errors.ErrUnsupported }
