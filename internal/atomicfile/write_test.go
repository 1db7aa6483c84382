package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, failed := io.WriteString(w, s)
			return errors.Join(failed, err)
		}
	}
	require.NoError(t, atomicfile.Write(path, text("one", nil)))
	require.ErrorIs(t, atomicfile.Write(path, text("two", io.ErrShortWrite)), io.ErrShortWrite)
	require.ErrorIs(t, atomicfile.Write(filepath.Join(dir, "no", "x"), text("three", nil)), os.ErrNotExist)
	require.Error(t, atomicfile.Write(dir, text("four", nil)), "a folder is in the way")
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "one", string(got))
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left of the attempts")
}

// What a writer that was killed left is removed by the next; what one that lives is writing, and what is
// somebody else's, is not.
func TestWriteSweeps(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	others := []string{".x.12", ".x.a.tmp", ".xy.12.tmp", "x.12.tmp"}
	for _, name := range append(others, ".x.12.tmp", ".x.345.tmp") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, atomicfile.Write(path, func(io.Writer) error {
		return atomicfile.Write(path, func(w io.Writer) error { return nil })
	}), "two write at the same time")
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	require.ElementsMatch(t, append(others, "x"), names)
}
