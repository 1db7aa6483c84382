package cgo

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/home"
)

// heapLibrary is the path of the library with operator new.
func heapLibrary(t *testing.T) string {
	t.Helper()
	require.NoError(t, Load())
	place, err := home.Find()
	require.NoError(t, err)
	path, err := filepath.Abs(filepath.Join(place.Dir, "lib", home.Heap))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skip("this home is instrumented: ", err)
	}
	return path
}

func TestHeap(t *testing.T) {
	path := heapLibrary(t)
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	needs, err := file.ImportedLibraries()
	require.NoError(t, err)
	assert.Equal(t, []string{"libc.so.6"}, needs, "C++'s library has to be the one that libtorch finds")

	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("no C++ compiler: ", err)
	}
	program := filepath.Join(t.TempDir(), "heap")
	// -O0, so that no pair of new and delete is left out.
	out, err := exec.Command(compiler, "-std=c++20", "-O0", "-pthread", "-o", program, "testdata/heap/main.cc").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program)
	cmd.Env = append(cmd.Environ(), "LD_PRELOAD="+path)
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "1 1 2 1 1\n", string(out))
}

// A home may lack the library; one that cannot be opened is named.
func TestHeapOfAHome(t *testing.T) {
	dir := t.TempDir()
	assert.NoError(t, openHeap(filepath.Join(dir, home.Heap)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, home.Heap), []byte("text"), 0o644))
	assert.ErrorContains(t, openHeap(filepath.Join(dir, home.Heap)), "cannot open "+filepath.Join(dir, home.Heap))
	t.Setenv(envMalloc, "default")
	assert.NoError(t, openHeap(filepath.Join(dir, home.Heap)))
}
