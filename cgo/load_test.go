package cgo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/home"
)

func TestShimsAreChecked(t *testing.T) {
	require.NoError(t, Load())
	fits := shimInfo{abi: abiVersion, opsHash: opsHash, torchVersion: loadedTorch() * 100}
	assert.Positive(t, loadedTorch())
	assert.NoError(t, fits.check("shim", "lib"))
	for name, change := range map[string]func(*shimInfo){
		"other ABI":       func(s *shimInfo) { s.abi++ },
		"other operators": func(s *shimInfo) { s.opsHash++ },
	} {
		s := fits
		change(&s)
		assert.ErrorContains(t, s.check("shim", "lib"), "the shim shim was built from other sources than this program; "+home.Advice(), name)
	}
	s := fits
	s.torchVersion = 29900
	err := s.check("shim", "lib")
	assert.ErrorContains(t, err, "built for libtorch 2.99 but the libtorch in lib is 2.")
	assert.ErrorContains(t, err, "$LIBTORCH")
}

// Built without cgo, a program learns of that and not that libtorch is missing: to install it would not help.
func TestWithoutCgoTheFirstErrorIsThat(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to run the program with: ", err)
	}
	if _, err := os.Stat(filepath.Join("..", "go.mod")); err != nil {
		t.Skip("the sources are not here: ", err)
	}
	cmd := exec.Command("go", "run", "./testdata/nocgo")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GODEBUG=", EnvHome+"="+t.TempDir()) // what GODEBUG prints is not the program's
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	const want = "torch: this program was built without cgo, through which libtorch is called: " +
		"install a C compiler (Debian, Ubuntu: apt install gcc) and build it with CGO_ENABLED=1"
	require.Equal(t, []string{want, "version: " + want}, strings.Split(strings.TrimSpace(string(out)), "\n"))
}

// The linker's own words name the file: they are copied before another thread can have them freed.
func TestWhatCannotBeOpened(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.so")
	text := filepath.Join(t.TempDir(), "text.so")
	require.NoError(t, os.WriteFile(text, []byte("no library"), 0o644))
	opened := func(path string) error { return openLibrary(path, true, false) }
	shim := func(path string) error { _, err := openShim(path); return err }
	second := func(path string) error { _, err := openCUDAShim(path); return err }
	for name, open := range map[string]func(string) error{"library": opened, "shim": shim, "CUDA shim": second, "NVML": openNVML} {
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				assert.ErrorContains(t, open(none), none+": cannot open shared object file", name)
				assert.ErrorContains(t, open(text), text+": file too short", name)
			})
		}
		group.Wait()
	}
}

func TestLibrariesOpenedByName(t *testing.T) {
	site := t.TempDir()
	lib := filepath.Join(site, "torch", "lib")
	assert.Empty(t, openedByName(lib))
	var want []string
	for _, name := range []string{"cu13/lib/libnvJitLink.so.13", "cu13/lib/libnvrtc-builtins.so.13.0", "cu13/lib/libnvrtc.so.13",
		"cu13/lib/libnvrtc_static.a", "cudnn/lib/libcudnn.so.9"} {
		path := filepath.Join(site, "nvidia", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		if len(want) < 3 {
			want = append(want, path)
		}
	}
	assert.Equal(t, want, openedByName(lib))
}

func TestNames(t *testing.T) {
	assert.Equal(t, "float32", DTypeName(codeFloat32))
	assert.Equal(t, "dtype(99)", DTypeName(99))
	assert.Equal(t, "dtype(-1)", DTypeName(-1))
	for word, want := range map[uint64]string{0xff: "cpu", 0: "cpu", 0x1ff: "cuda", 0x100: "cuda:0", 0x107: "cuda:7",
		14<<8 | 0xff: "meta", 99<<8 | 2: "device(99):2"} {
		assert.Equal(t, want, DeviceName(word))
	}
}
