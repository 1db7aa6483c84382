package cpp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/libtorch-go/libtorch/internal/cache"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// Options say how to compile: without them like this project's own C++.
type Options struct {
	Compiler string   // the compiler, perhaps with arguments; default: $CXX, or the first of c++, g++ and clang++
	Flags    []string // after -O2: "-O3", "-march=native", "-fopenmp", "-Ifolder", …
}

// CompileError is a source that does not compile.
type CompileError struct {
	Name   string // the name given to LoadInline
	Output string // the compiler's output
	Err    error  // how it ended
}

// Error has the compiler's output.
func (e *CompileError) Error() string {
	return fmt.Sprintf("torch/cpp: %s does not compile: %v\n%s", e.Name, e.Err, e.Output)
}

// Unwrap is how the compiler ended.
func (e *CompileError) Unwrap() error { return e.Err }

// LoadInline compiles a source, unless that was done before, and loads the operators that it
// registers in the namespace name. Loading the same source again does nothing. A source that does
// not compile is a *[CompileError].
func LoadInline(name, source string, opts ...Options) error {
	path, err := Build(name, source, opts...)
	if err != nil {
		return err
	}
	if err := library.Load(path); err != nil {
		return err
	}
	for _, operator := range torch.Operators() {
		if strings.HasPrefix(operator, name+"::") {
			return nil
		}
	}
	return fmt.Errorf("torch/cpp: the source of %s registers no operator in the namespace %s: it needs a STABLE_TORCH_LIBRARY(%s, m)",
		name, name, name)
}

// Build is LoadInline without the loading. It returns the path of the library, which library.Load
// takes, in this program or in Python's torch.ops.load_library.
func Build(name, source string, opts ...Options) (string, error) {
	options := option.One(opts)
	if !regexp.MustCompile(`^[A-Za-z]\w*$`).MatchString(name) {
		return "", fmt.Errorf("torch/cpp: the name %q is not an identifier", name)
	}
	compiler, err := find(options.Compiler)
	if err != nil {
		return "", err
	}
	flags, err := flags(options)
	if err != nil {
		return "", err
	}
	version, err := run(compiler, "--version")
	if err != nil {
		return "", fmt.Errorf("torch/cpp: the compiler %s does not run: %w\n%s", strings.Join(compiler, " "), err, version)
	}
	key := cache.Key(append([]string{source, torch.Version(), version, strings.Join(compiler, " ")}, flags...)...)
	path, err := cache.File("cpp", name+"-"+key+".so", func(path string) error {
		file := filepath.Join(filepath.Dir(path), name+".cc")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			return err
		}
		output, err := run(compiler, append([]string{"-o", path, file}, flags...)...)
		if err != nil {
			return &CompileError{Name: name, Output: strings.ReplaceAll(output, filepath.Dir(file)+"/", ""), Err: err}
		}
		return nil
	})
	if wrong := new(CompileError); err != nil && !errors.As(err, &wrong) {
		err = fmt.Errorf("torch/cpp: %w", err)
	}
	return path, err
}

// find is the compiler and its arguments.
func find(asked string) ([]string, error) {
	for _, words := range []string{asked, os.Getenv("CXX")} {
		if list := strings.Fields(words); len(list) > 0 {
			if _, err := exec.LookPath(list[0]); err != nil {
				return nil, fmt.Errorf("torch/cpp: the compiler %s is not there: %w", words, err)
			}
			return list, nil
		}
	}
	for _, name := range []string{"c++", "g++", "clang++"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errors.New("torch/cpp: there is no C++ compiler: install g++ 11 or later (Debian, Ubuntu: apt install g++), or set CXX")
}

// included are the headers of the stable ABI that every source gets.
var included = []string{"torch/csrc/stable/library.h", "torch/csrc/stable/ops.h", "torch/csrc/stable/tensor.h",
	"torch/headeronly/core/ScalarType.h"}

func flags(options Options) ([]string, error) {
	include, err := library.IncludeDirs()
	if err != nil {
		return nil, err
	}
	var major, minor uint64
	if _, err := fmt.Sscanf(torch.Version(), "%d.%d", &major, &minor); err != nil {
		return nil, fmt.Errorf("torch/cpp: libtorch's version is %q: %w", torch.Version(), err)
	}
	list := []string{"-std=c++20", "-O2", "-fPIC", "-shared", "-Wl,-z,defs",
		fmt.Sprintf("-DTORCH_TARGET_VERSION=0x%016xULL", major<<56|minor<<48)}
	list = append(list, options.Flags...)
	for _, dir := range include {
		list = append(list, "-isystem", dir)
	}
	for _, header := range included {
		list = append(list, "-include", header)
	}
	// The functions that a source uses must be there when it is loaded, and are libtorch's.
	lib := filepath.Join(filepath.Dir(include[0]), "lib")
	return append(list, "-L"+lib, "-ltorch_cpu", "-Wl,--allow-shlib-undefined"), nil
}

// run runs a program and returns its output.
func run(program []string, args ...string) (string, error) {
	cmd := exec.Command(program[0], append(program[1:len(program):len(program)], args...)...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C") // its messages in ASCII
	text, err := cmd.CombinedOutput()
	return string(text), err
}
