package library

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
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

// loading guards the empty libraries that replace absent halves of libtorch.
var (
	loading sync.Mutex
	stands  = map[string]bool{}
)

var halves = regexp.MustCompile(`^lib(torch|c10|shm|caffe2)\w*\.so$`)

func open(path string, file *elf.File) error {
	needed, err := file.ImportedLibraries()
	if err != nil {
		return err
	}
	absent := slices.DeleteFunc(needed, func(name string) bool {
		return !halves.MatchString(name) || cgo.LibraryIsOpen(name) && !stands[name]
	})
	for _, name := range absent {
		if err := substitute(name, file.Machine); err != nil {
			return err
		}
	}
	err = cgo.OpenLibrary(path, false)
	if err == nil {
		return nil
	}
	if misfit := misfit(file, absent); misfit != nil {
		return misfit
	}
	if len(absent) == 0 {
		return err
	}
	return cgo.OpenLibrary(path, true) // missing functions belong to the absent halves
}

// substitute provides a replacement for an absent library: the library under the CUDA half, which
// has variables that others refer to and needs no card, is loaded itself; the others are replaced
// by an empty one.
func substitute(name string, machine elf.Machine) error {
	if stands[name] {
		return nil
	}
	if name == "libc10_cuda.so" {
		dir, err := cgo.TorchDir()
		if err != nil {
			return err
		}
		if cgo.OpenLibrary(filepath.Join(dir, "lib", name), true) == nil {
			return nil
		}
	}
	dir, err := os.MkdirTemp("", "libtorch-go-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, emptyLibrary(name, machine), 0o600); err != nil {
		return err
	}
	if err := cgo.OpenLibrary(path, true); err != nil {
		return err
	}
	stands[name] = true
	return nil
}

var (
	// Names in libtorch's C++ namespaces, and its C functions.
	ofTorch  = regexp.MustCompile(`^_Z\w*?N[VKRO]*(2at|3c10|5torch|6caffe2)|^(aoti_)?torch_`)
	ofPython = regexp.MustCompile(`^_?Py[A-Z_]`)
)

// misfit says which functions a library needs that no half of this libtorch has, or is
// nil.
func misfit(file *elf.File, absent []string) error {
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	var lacks []string
	for _, s := range symbols {
		wanted := s.Section == elf.SHN_UNDEF && elf.ST_BIND(s.Info) == elf.STB_GLOBAL
		switch {
		case !wanted || cgo.SymbolIsKnown(s.Name):
		case ofPython.MatchString(s.Name):
			return fmt.Errorf("it is a module of Python's: it uses %s", s.Name)
		case ofTorch.MatchString(s.Name):
			lacks = append(lacks, s.Name)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	elsewhere, err := exports(absent)
	if err != nil {
		return err
	}
	lacks = slices.DeleteFunc(lacks, func(name string) bool { return elsewhere[name] })
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("it was built for another libtorch than %s, which does not have %s%s", torch.Version(), lacks[0], others(len(lacks)-1))
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more of what it uses", n)
}

// exports are the symbols of those libraries beside libtorch that are not open.
func exports(names []string) (map[string]bool, error) {
	dir, err := cgo.TorchDir()
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, name := range names {
		file, err := elf.Open(filepath.Join(dir, "lib", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		symbols, err := file.DynamicSymbols()
		_ = file.Close() // closing a file that was only read cannot lose data
		if err != nil {
			return nil, err
		}
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF {
				all[s.Name] = true
			}
		}
	}
	return all, nil
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
