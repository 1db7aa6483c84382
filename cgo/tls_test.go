package cgo

import (
	"bufio"
	"debug/elf"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Variables of threads begin as zeros in our libraries: a thread that starts while one is opened may not get what they begin with else, and
// operator new found no bins there.
func TestThreadsBeginWithZeros(t *testing.T) {
	require.NoError(t, Load())
	maps, err := os.Open("/proc/self/maps")
	require.NoError(t, err)
	defer func() { require.NoError(t, maps.Close()) }()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		_, path, _ := strings.Cut(lines.Text(), "/")
		if path = "/" + path; !strings.Contains(path, "/libtorchgo") || seen[path] {
			continue
		}
		seen[path] = true
		file, err := elf.Open(path)
		require.NoError(t, err)
		require.Nil(t, file.Section(".tdata"), path)
		require.NoError(t, file.Close())
	}
	require.NotEmpty(t, seen)
}
