package cgo

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/home"
)

// Variables of threads begin as zeros in our libraries: a thread that starts while one is opened may not get what they begin with else, and
// operator new found no bins there.
func TestThreadsBeginWithZeros(t *testing.T) {
	require.NoError(t, Load())
	place, err := home.Find()
	require.NoError(t, err)
	libraries, err := filepath.Glob(filepath.Join(place.Dir, "lib", "libtorchgo*.so"))
	require.NoError(t, err)
	require.NotEmpty(t, libraries)
	for _, path := range libraries {
		file, err := elf.Open(path)
		require.NoError(t, err)
		require.Nil(t, file.Section(".tdata"), path)
		require.NoError(t, file.Close())
	}
}
