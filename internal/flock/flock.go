package flock

import (
	"context"
	"os"
	"time"
)

// pause is how long a waiting process sleeps between two tries.
const pause = 100 * time.Millisecond

// Lock waits until nobody else has locked the file or folder, which stays locked until it is closed. If somebody has,
// waits is told once, unless it is nil. It ends with the context, and returns its cause.
func Lock(ctx context.Context, f *os.File, waits func()) error {
	for first := true; ; first = false {
		switch locked, err := Try(f); {
		case err != nil:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		case locked || !Works:
			return nil
		}
		if first && waits != nil {
			waits()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Open opens a file to read and write, which it makes if there is none, and locks it as [Lock] does. When it
// returns, the file is the one with that name, whatever others did to it before.
func Open(ctx context.Context, path string, waits func()) (*os.File, error) {
	const readable = 0o644
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, readable)
		if err != nil {
			return nil, err
		}
		if err := Lock(ctx, f, waits); err != nil {
			_ = f.Close() // the first error counts
			return nil, err
		}
		if Same(f, path) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// Same says whether the open file is the one that has the name now.
func Same(f *os.File, path string) bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(own, named)
}
