package cgo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/internal/home"
)

// Environment variables that control loading.
const (
	EnvHome  = home.Env      // a folder with lib/ (our shims) and, usually, libtorch/; or a checkout that was built
	EnvTorch = home.EnvTorch // another libtorch: Python's torch folder or an unpacked zip
)

// envMalloc leaves memory to the C library's defaults if it says so; the shim reads it, too.
const envMalloc = "LIBTORCH_GO_MALLOC"

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
	place, err := home.Find()
	if err != nil {
		return fmt.Errorf("torch: %w", err)
	}
	if err := open(place.Dir); err != nil {
		return err
	}
	opened.Store(true)
	loaded.Store(true)
	word(OpLimit, headroom)
	garbage.kept.Store(resident())
	return nil
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

func open(dir string) error {
	torch, why := home.Torch(dir)
	torchHome = torch
	lib := filepath.Join(torch, "lib")
	if err := openHeap(filepath.Join(dir, "lib", home.Heap)); err != nil {
		return err
	}
	for _, name := range []string{"libc10.so", "libtorch_cpu.so"} {
		if err := openLibrary(filepath.Join(lib, name), true, true); err != nil {
			return fmt.Errorf("torch: cannot open libtorch in %s (%s): %w\n%s, or point $%s at a folder with "+
				"lib/libtorch_cpu.so", lib, why, err, home.Advice(), EnvTorch)
		}
	}
	// libtorch decides on its first use whether CUDA exists, so the CUDA half must be
	// loaded before.
	noCUDA = openCUDA(dir, lib)
	shim := home.Place{Dir: dir}.Shim()
	info, err := openShim(shim)
	if err != nil {
		return fmt.Errorf("torch: cannot open the shim %s over the libtorch in %s: %w\nto build it for this libtorch, %s", shim,
			lib, err, home.Advice())
	}
	return info.check(shim, lib)
}

// openHeap has libtorch find our operator new before C++'s own. Programs work without it, only slower, so a home may lack it.
func openHeap(path string) error {
	if os.Getenv(envMalloc) == "default" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	if err := openLibrary(path, false, true); err != nil {
		return fmt.Errorf("torch: cannot open %s: %w; %s", path, err, home.Advice())
	}
	return nil
}

// check refuses a shim that was built from other sources, or for another libtorch than
// the one in the process: structures of both are laid out at compile time.
func (s shimInfo) check(shim, lib string) error {
	if s.abi != abiVersion || s.opsHash != opsHash {
		return fmt.Errorf("torch: the shim %s was built from other sources than this program; %s", shim, home.Advice())
	}
	if built, found := s.torchVersion/100, loadedTorch(); found != 0 && built != found {
		return fmt.Errorf("torch: the shim %s was built for libtorch %d.%d but the libtorch in %s is %d.%d; %s "+
			"for that one, or unset $%s",
			shim, built/100, built%100, lib, found/100, found%100, home.Advice(), EnvTorch)
	}
	return nil
}
