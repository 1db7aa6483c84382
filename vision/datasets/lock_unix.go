//go:build unix

package datasets

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFolder keeps other processes from fetching into the same folder at the same
// time; they wait until ctx ends. The lock is on the folder itself, so that it
// leaves no file behind and dies with its holder.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, &os.PathError{Op: "lock", Path: dir, Err: err}
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
