package cache

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKey(t *testing.T) {
	require.Equal(t, Key("a", "b"), Key("a", "b"))
	for _, other := range [][]string{{"ab"}, {"a", "", "b"}, {"b", "a"}, {"a", "b", ""}} {
		require.NotEqual(t, Key("a", "b"), Key(other...))
	}
}

func TestFileIsMadeOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var made atomic.Int64
	write := func(path string) error {
		made.Add(1)
		return os.WriteFile(path, []byte("text"), 0o600)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			path, err := File("things", "one", write)
			if err == nil {
				_, err = os.Stat(path)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, made.Load())
}

func TestFileThatFailsLeavesNothing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	mine := errors.New("mine")
	path, err := File("things", "one", func(path string) error {
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		return mine
	})
	require.ErrorIs(t, err, mine)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, left)
}
