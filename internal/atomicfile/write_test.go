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
