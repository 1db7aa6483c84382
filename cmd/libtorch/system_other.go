//go:build !unix

package main

import "os/exec"

// interruptAll leaves it at the command itself: libtorch is built on Linux alone.
func interruptAll(*exec.Cmd) (end func()) { return func() {} }
