//go:build unix

package flock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/flock"
)

func TestLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	first, err := flock.Open(context.Background(), path, func() { t.Error("nobody has it") })
	require.NoError(t, err)
	second, err := os.Open(path)
	require.NoError(t, err)
	defer second.Close()
	locked, err := flock.Try(second)
	require.NoError(t, err)
	require.False(t, locked)

	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err = flock.Open(ctx, path, func() { cancel(stop) })
	require.ErrorIs(t, err, stop)

	require.NoError(t, first.Close())
	require.NoError(t, flock.Lock(ctx, second, nil), "free locks are had without waiting")

	folder, err := os.Open(dir)
	require.NoError(t, err)
	require.NoError(t, flock.Lock(context.Background(), folder, nil))
	require.NoError(t, folder.Close())
	require.ErrorContains(t, flock.Lock(ctx, folder, nil), "closed file")
	_, err = flock.Open(ctx, filepath.Join(dir, "no", "x"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Who waited for a file that was taken away gets one that has the name.
func TestOpenAfterRemoval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	first, err := flock.Open(context.Background(), path, nil)
	require.NoError(t, err)
	second, err := flock.Open(context.Background(), path, func() {
		require.NoError(t, os.Remove(path))
		time.AfterFunc(time.Millisecond, func() { first.Close() })
	})
	require.NoError(t, err)
	defer second.Close()
	require.True(t, flock.Same(second, path))
	require.False(t, flock.Same(first, path))
}
