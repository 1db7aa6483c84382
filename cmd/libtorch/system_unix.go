//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/libtorch-go/libtorch/internal/cli"
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

// lock waits until no other installation of the same is under way.
func lock(ctx context.Context, path string, out io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		if !told {
			fmt.Fprintln(out, "another installation is under way: waiting for it")
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, cli.Interruptedf("interrupted while another installation was under way")
		case <-time.After(time.Second):
		}
	}
}
