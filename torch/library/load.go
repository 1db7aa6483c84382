package library

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/halves"
)

// Load opens a shared library with operators: one built with torch.utils.cpp_extension, that of a
// Python package, or one for libtorch's stable ABI (see package torch/cpp). What it registers
// when it is opened can be called by name at once, and is listed by torch.Operators. Loading
// a library again does nothing; none is ever unloaded.
//
// Libraries made for Python are linked to Python's half of torch, and those with CUDA kernels to
// its CUDA half, which may be absent here. They load all the same if they need nothing of
// Python's half, and their CUDA kernels are not called without a card. A library built for
// another libtorch is refused with an error that says which function is missing.
//
// A library that defines an operator which another library has defined ends the process,
// unless it is built for the stable ABI: C++ cannot report that error.
func Load(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("torch/library: %w", err)
	}
	file, err := elf.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("torch/library: there is no library %s", path)
	}
	if err != nil {
		return fmt.Errorf("torch/library: %s is not a shared library: %w", path, err)
	}
	defer file.Close()
	if err := cgo.Load(); err != nil {
		return err
	}
	loading.Lock()
	defer loading.Unlock()
	if err := open(path, file); err != nil {
		return fmt.Errorf("torch/library: cannot load %s: %w", path, err)
	}
	return nil
}

// loading lets one library be opened at a time.
var loading sync.Mutex

func open(path string, file *elf.File) error {
	absent, err := halves.Provide(file)
	if err != nil {
		return err
	}
	if err = cgo.OpenLibrary(path, false); err == nil {
		return nil
	}
	if misfit := halves.Misfit(file, absent); misfit != nil {
		return misfit
	}
	if len(absent) == 0 {
		return err
	}
	return cgo.OpenLibrary(path, true) // missing functions belong to the absent halves
}

// IncludeDirs are the folders of the C++ headers of the libtorch in use, for compilers.
func IncludeDirs() ([]string, error) {
	dir, err := cgo.TorchDir()
	if err != nil {
		return nil, err
	}
	include := filepath.Join(dir, "include")
	if _, err := os.Stat(filepath.Join(include, "torch", "headeronly", "version.h")); err != nil {
		return nil, fmt.Errorf("torch/library: the libtorch in %s has no C++ headers: %w", strings.TrimSuffix(dir, "/"), err)
	}
	return []string{include, filepath.Join(include, "torch", "csrc", "api", "include")}, nil
}
