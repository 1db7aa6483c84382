//go:build unix

package flock

import (
	"errors"
	"os"
	"syscall"
)

// Works says whether this system locks files.
const Works = true

// Try locks a file or folder unless somebody else has: locked tells.
func Try(f *os.File) (locked bool, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var failed error
	err = c.Control(func(descriptor uintptr) {
		for failed = syscall.EINTR; failed == syscall.EINTR; {
			failed = syscall.Flock(int(descriptor), syscall.LOCK_EX|syscall.LOCK_NB)
		}
	})
	if errors.Is(failed, syscall.EWOULDBLOCK) {
		return false, err
	}
	return failed == nil && err == nil, errors.Join(err, failed)
}
