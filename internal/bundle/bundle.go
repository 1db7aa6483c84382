package bundle

import (
	"cmp"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/home"
)

// Options say what a bundle has besides the program, the shim and libtorch for the CPU.
type Options struct {
	CUDA    bool // CUDA's libraries; the driver is the machine's
	System  bool // the C library and its linker: for an image made from scratch
	Symbols bool // the symbols inside of libtorch, which debuggers and profilers show
}

// Kinds of files, in the order of how often they change.
const (
	System  = "C library"
	Library = "libtorch"
	CUDA    = "CUDA"
	Ours    = "shim"
	Program = "program"
)

// A File is one of a bundle's.
type File struct {
	Name string // in the bundle, with slashes
	Kind string
	from string // on this machine
	part []part // of it, nil for all
}

// Size is the number of its bytes.
func (f File) Size() (n int64, err error) {
	if f.part == nil {
		info, err := os.Stat(f.from)
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	for _, p := range f.part {
		n += p.size()
	}
	return n, nil
}

// copyTo writes the file's bytes.
func (f File) copyTo(w io.Writer) error {
	file, err := os.Open(f.from)
	if err != nil {
		return err
	}
	defer file.Close()
	var r io.Reader = file
	if f.part != nil {
		r = reader(file, f.part)
	}
	_, err = io.Copy(w, r)
	return err
}

// Collect lists the files that a program needs beside it, with those of a home and its libtorch.
func Collect(program, dir, torch string, o Options) ([]File, error) {
	if err := fits(program); err != nil {
		return nil, err
	}
	libraries := filepath.Join(torch, "lib")
	c := collector{torch: libraries, o: o, search: newSearch(libraries), files: map[string]File{}}
	c.add(filepath.Base(program), Program, program)
	c.add("lib/"+home.Shim, Ours, filepath.Join(dir, "lib", home.Shim))
	heap := filepath.Join(dir, "lib", home.Heap)
	if _, err := os.Stat(heap); err == nil {
		c.add("lib/"+home.Heap, Ours, heap)
	}
	c.add("lib/version.txt", Ours, filepath.Join(dir, "lib", "version.txt"))
	roots := []string{filepath.Join(c.torch, "libc10.so"), filepath.Join(c.torch, "libtorch_cpu.so"), filepath.Join(dir, "lib", home.Shim)}
	if o.CUDA {
		more, err := c.cuda(dir)
		if err != nil {
			return nil, err
		}
		roots = append(roots, more...)
	}
	if err := c.libraries(roots); err != nil {
		if o.CUDA {
			err = fmt.Errorf("%w; for all of CUDA's libraries %s", err, home.Advice("--cuda"))
		}
		return nil, err
	}
	if o.System {
		if err := c.system(program); err != nil {
			return nil, err
		}
	}
	return c.list()
}

// fits refuses a program that would not use this libtorch.
func fits(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s is no Go program: %w", program, err)
	}
	at := slices.IndexFunc(info.Deps, func(dep *debug.Module) bool { return dep.Path == home.Module })
	switch ours := home.Version(); {
	case info.Main.Path == home.Module:
	case at < 0:
		return fmt.Errorf("%s does not use %s", program, home.Module)
	case ours != "" && info.Deps[at].Replace == nil && info.Deps[at].Version != ours:
		return fmt.Errorf("%s was built with %s %s, this is %s: use the libtorch command of the program's own module (go tool libtorch)",
			program, home.Module, info.Deps[at].Version, ours)
	}
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"}) {
		return fmt.Errorf("%s was built without cgo, through which libtorch is called: build it with CGO_ENABLED=1", program)
	}
	return nil
}

type collector struct {
	torch string // the folder of libtorch's libraries
	o     Options
	search
	files map[string]File // by name
}

func (c *collector) add(name, kind, from string) {
	c.files[name] = File{Name: name, Kind: kind, from: from}
}

// cuda adds the second shim and returns the libraries of CUDA that something opens by name. All others are
// needed by one of them.
func (c *collector) cuda(dir string) (roots []string, err error) {
	const shim = "libtorchgo_cuda.so"
	c.add("lib/"+shim, Ours, filepath.Join(dir, "lib", shim))
	roots = []string{filepath.Join(dir, "lib", shim)}
	for _, name := range []string{"libc10_cuda.so", "libtorch_cuda.so", "libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so"} {
		roots = append(roots, filepath.Join(c.torch, name))
	}
	for _, root := range roots {
		if _, err := os.Stat(root); err != nil {
			return nil, fmt.Errorf("there is no CUDA to pack: %w; %s", err, home.Advice("--cuda"))
		}
	}
	for _, name := range []string{"libcudnn*.so.*", "libnvrtc*.so.*", "libnvJitLink.so.*"} {
		found, err := filepath.Glob(filepath.Join(c.torch, "..", "..", "nvidia", "*", "lib", name))
		if err != nil {
			return nil, err
		}
		roots = append(roots, found...)
	}
	return roots, nil
}

// libraries adds these and what they need, but for the C library.
func (c *collector) libraries(roots []string) error {
	found, err := c.closure(roots, func(name string) bool { return ofDriver(name) || ofC(name) })
	if err != nil {
		return err
	}
	for _, root := range roots {
		found[filepath.Base(root)] = root
	}
	for name, from := range found {
		if err := c.library(name, from); err != nil {
			return err
		}
	}
	return nil
}

// library adds one library: of libtorch's folder without what is not mapped, of NVIDIA's as it is, and others,
// C++'s own, beside libtorch's, where these look first.
func (c *collector) library(name, from string) error {
	dir := filepath.Dir(from)
	switch nvidia := filepath.Join(c.torch, "..", "..", "nvidia"); {
	case c.files["lib/"+name].from != "":
		return nil // a shim
	case dir == c.torch:
		f := File{Name: "libtorch/torch/lib/" + name, Kind: Library, from: from}
		if strings.Contains(name, "cuda") || strings.Contains(name, "nv") {
			f.Kind = CUDA
		}
		if !c.o.Symbols {
			parts, err := slim(from)
			if err != nil {
				return err
			}
			f.part = parts
		}
		c.files[f.Name] = f
	case strings.HasPrefix(dir, nvidia+string(filepath.Separator)):
		rest, err := filepath.Rel(nvidia, from)
		if err != nil {
			return err
		}
		kind := CUDA
		if slices.ContainsFunc([]string{"libcudart.", "libcupti."}, func(own string) bool { return strings.HasPrefix(name, own) }) {
			kind = Library // libtorch for the CPU is linked to these
		}
		c.add("libtorch/nvidia/"+filepath.ToSlash(rest), kind, from)
	default:
		c.add("libtorch/torch/lib/"+name, Library, from)
	}
	return nil
}

// system adds the linker, the C library and what else the program itself is linked to.
func (c *collector) system(program string) error {
	o, err := readObject(program)
	if err != nil {
		return err
	}
	if o.linker == "" {
		return fmt.Errorf("%s loads no libraries: it is linked statically", program)
	}
	c.add(strings.TrimPrefix(o.linker, "/"), System, o.linker)
	roots := []string{program}
	for _, f := range c.files {
		if f.Kind != Program && strings.Contains(f.Name, ".so") {
			roots = append(roots, f.from)
		}
	}
	found, err := c.closure(roots, ofDriver)
	if err != nil {
		return err
	}
	libc := found["libc.so.6"]
	if libc == "" {
		return errors.New("only programs over the GNU C library can be packed with it")
	}
	own, err := c.closure([]string{program}, ofDriver)
	if err != nil {
		return err
	}
	for name, from := range found {
		if ofC(name) && name != filepath.Base(o.linker) {
			c.add(path.Join(filepath.ToSlash(filepath.Dir(libc))[1:], name), System, from)
		}
	}
	for name, from := range own {
		if !ofC(name) {
			c.add(path.Join(filepath.ToSlash(filepath.Dir(libc))[1:], name), System, from)
		}
	}
	return nil
}

// ofDriver: the driver comes with the machine that has the card.
func ofDriver(name string) bool {
	return strings.HasPrefix(name, "libcuda.so") || strings.HasPrefix(name, "libnvidia-")
}

// ofC: the GNU C library in its parts, which fit each other only.
func ofC(name string) bool {
	base, _, _ := strings.Cut(name, ".so")
	return strings.HasPrefix(base, "ld-linux") ||
		slices.Contains([]string{"libc", "libm", "libdl", "librt", "libpthread", "libutil", "libresolv"}, base)
}

func (c *collector) list() (files []File, err error) {
	for _, f := range c.files {
		if _, err := f.Size(); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	order := []string{System, Library, CUDA, Ours, Program}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), cmp.Compare(a.Name, b.Name))
	})
	return files, nil
}
