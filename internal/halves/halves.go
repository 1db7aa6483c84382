package halves

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
)

// stands are the empty libraries that are open.
var stands = struct {
	sync.Mutex
	open map[string]bool
}{open: map[string]bool{}}

var halves = regexp.MustCompile(`^lib(torch|c10|shm|caffe2)\w*\.so$`)

// Provide opens something in the place of each half of libtorch that a library needs and that is not open, and returns their names.
func Provide(file *elf.File) (absent []string, err error) {
	needed, err := file.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	stands.Lock()
	defer stands.Unlock()
	for _, name := range needed {
		if !halves.MatchString(name) || cgo.LibraryIsOpen(name) && !stands.open[name] {
			continue
		}
		if err := substitute(name, file.Machine); err != nil {
			return nil, err
		}
		absent = append(absent, name)
	}
	return absent, nil
}

// substitute provides a replacement for an absent library: the library under the CUDA half, which
// has variables that others refer to and needs no card, is loaded itself; the others are replaced
// by an empty one.
func substitute(name string, machine elf.Machine) error {
	if stands.open[name] {
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
	stands.open[name] = true
	return nil
}

var (
	// Names in libtorch's C++ namespaces, and its C functions.
	ofTorch  = regexp.MustCompile(`^_Z\w*?N[VKRO]*(2at|3c10|5torch|6caffe2)|^(aoti_)?torch_`)
	ofPython = regexp.MustCompile(`^_?Py[A-Z_]`)
)

// Misfit says which functions a library needs that no half of this libtorch has, or is nil. Absent are those that [Provide] named.
func Misfit(file *elf.File, absent []string) error {
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
