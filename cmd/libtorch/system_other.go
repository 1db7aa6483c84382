//go:build !unix

package main

import (
	"context"
	"io"
	"os/exec"
)

// interruptAll leaves it at the command itself: libtorch is built on Linux alone.
func interruptAll(*exec.Cmd) (end func()) { return func() {} }

// lock does nothing on systems that cannot lock files.
func lock(context.Context, string, io.Writer) (unlock func(), err error) { return func() {}, nil }
