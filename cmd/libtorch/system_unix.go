//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// interruptAll has the end of a command's context interrupt all that the command has started. They are a group of
// their own, so that what a terminal sends reaches them through us alone. After the command, end ends those that an
// interrupt does not.
func interruptAll(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	interrupted := false
	cmd.Cancel = func() error {
		interrupted = true
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	}
	const patience = 5 * time.Second
	cmd.WaitDelay = patience
	return func() {
		if interrupted {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it fails if none is left
		}
	}
}
