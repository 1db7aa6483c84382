package cgo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Environment variables that control loading.
const (
	EnvHome  = "LIBTORCH_GO_HOME" // a folder with lib/ (our shims) and, usually, libtorch/
	EnvTorch = "LIBTORCH"         // another libtorch: Python's torch folder or an unpacked zip
)

const shimName = "libtorchgo.so"

var (
	loaded  atomic.Bool
	opened  atomic.Bool // loaded, or shut down: there is a shim to ask
	loading sync.Mutex
	// torchHome is the folder of the libtorch in use: it has lib/ and include/.
	torchHome string
	// noCUDA says why the CUDA half is absent; nil once it is loaded.
	noCUDA = errors.New("libtorch has not been loaded yet")
)

type shimInfo struct {
	abi, torchVersion    int
	opsHash              uint64
	cudaBuilt, cudaFound int // of the second shim: the versions of CUDA's runtime, 13000 for 13.0
}

// Load opens libtorch and the shim unless they are open already. Every call through
// the door does so by itself; a program calls it to learn of a failure as an error.
// A failed load may be tried again.
func Load() error {
	if loaded.Load() {
		return nil
	}
	loading.Lock()
	defer loading.Unlock()
	if loaded.Load() {
		return nil
	}
	if ended.Load() {
		return ErrShutdown
	}
	if err := unbuilt(); err != nil {
		return err
	}
	home, trace := findHome()
	if home == "" {
		return notFound(trace)
	}
	if err := open(home); err != nil {
		return err
	}
	opened.Store(true)
	loaded.Store(true)
	word(OpLimit, headroom)
	garbage.kept.Store(resident())
	return nil
}

// findHome returns the first folder that holds our shim, and all that were tried.
func findHome() (home string, tried []string) {
	for _, c := range homes() {
		path := filepath.Join(c.dir, "lib", shimName)
		if _, err := os.Stat(path); err == nil {
			return c.dir, tried
		}
		tried = append(tried, fmt.Sprintf("  %s (%s)", path, c.why))
	}
	return "", tried
}

type candidate struct{ dir, why string }

func homes() []candidate {
	if dir := os.Getenv(EnvHome); dir != "" {
		return []candidate{{dir, "$" + EnvHome}} // an explicit folder is used or refused, never replaced
	}
	var list []candidate
	if exe, err := os.Executable(); err == nil {
		list = append(list, candidate{filepath.Dir(exe), "beside the executable"})
	}
	// The path of this source file, as compiled in; -trimpath removes it.
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		list = append(list, candidate{filepath.Join(filepath.Dir(file), "..", "third_party"), "the module's own"})
	}
	if dir, err := os.UserCacheDir(); err == nil {
		list = append(list, candidate{filepath.Join(dir, "libtorch-go"), "the user's cache"})
	}
	return append(list, candidate{"/usr/local/lib/libtorch-go", "the system's"})
}

func notFound(tried []string) error {
	return fmt.Errorf("torch: libtorch is not installed: %s was not found at\n%s\nrun ./build.sh in the libtorch-go checkout, "+
		"or point $%s at a folder that it filled",
		shimName, strings.Join(tried, "\n"), EnvHome)
}

// torchDir is the folder whose lib/ holds libtorch itself.
func torchDir(home string) (dir, why string) {
	if dir := os.Getenv(EnvTorch); dir != "" {
		return dir, "$" + EnvTorch
	}
	note := filepath.Join(home, "lib", "torch.path")
	if text, err := os.ReadFile(note); err == nil {
		return strings.TrimSpace(string(text)), note
	}
	return filepath.Join(home, "libtorch", "torch"), "beside the shim"
}

// TorchDir is the folder of the libtorch in use, with lib/ and, as a rule, include/.
func TorchDir() (string, error) {
	if err := Load(); err != nil {
		return "", err
	}
	return torchHome, nil
}

// OpenLibrary opens a shared library for the rest of the process's life. Later libraries see
// its symbols. With lazy, functions that no library defines are looked up only when they are
// called, which ends the process.
func OpenLibrary(path string, lazy bool) error {
	if err := Load(); err != nil {
		return err
	}
	return openLibrary(path, lazy, true)
}

func open(home string) error {
	dir, why := torchDir(home)
	torchHome = dir
	lib := filepath.Join(dir, "lib")
	for _, name := range []string{"libc10.so", "libtorch_cpu.so"} {
		if err := openLibrary(filepath.Join(lib, name), true, true); err != nil {
			return fmt.Errorf("torch: cannot open libtorch in %s (%s): %w\nrun ./build.sh, or point $%s at a folder with "+
				"lib/libtorch_cpu.so", lib, why, err, EnvTorch)
		}
	}
	// libtorch decides on its first use whether CUDA exists, so the CUDA half must be
	// loaded before.
	noCUDA = openCUDA(home, lib)
	shim := filepath.Join(home, "lib", shimName)
	info, err := openShim(shim)
	if err != nil {
		return fmt.Errorf("torch: cannot open the shim %s over the libtorch in %s: %w\nbuild it for this libtorch with ./build.sh", shim,
			lib, err)
	}
	return info.check(shim, lib)
}

// check refuses a shim that was built from other sources, or for another libtorch than
// the one in the process: structures of both are laid out at compile time.
func (s shimInfo) check(shim, lib string) error {
	if s.abi != abiVersion || s.opsHash != opsHash {
		return fmt.Errorf("torch: the shim %s was built from other sources than this program; run ./build.sh shim", shim)
	}
	if built, found := s.torchVersion/100, loadedTorch(); found != 0 && built != found {
		return fmt.Errorf("torch: the shim %s was built for libtorch %d.%d but the libtorch in %s is %d.%d; run ./build.sh for "+
			"that one, or unset $%s",
			shim, built/100, built%100, lib, found/100, found%100, EnvTorch)
	}
	return nil
}
