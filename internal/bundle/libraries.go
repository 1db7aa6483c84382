package bundle

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// object is what the dynamic linker reads in a program or a library.
type object struct {
	needed, paths []string // libraries by name; the folders to look for them
	linker        string   // of a program: the path of the dynamic linker
}

func readObject(path string) (object, error) {
	f, err := elf.Open(path)
	if err != nil {
		return object{}, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	var o object
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			text := make([]byte, p.Filesz)
			if _, err := p.ReadAt(text, 0); err != nil {
				return object{}, fmt.Errorf("%s: %w", path, err)
			}
			o.linker = strings.TrimRight(string(text), "\x00")
		}
	}
	if o.needed, err = f.ImportedLibraries(); err != nil {
		return object{}, fmt.Errorf("%s: %w", path, err)
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		texts, err := f.DynString(tag)
		if err != nil {
			return object{}, fmt.Errorf("%s: %w", path, err)
		}
		for _, text := range texts {
			for dir := range strings.SplitSeq(text, ":") {
				o.paths = append(o.paths, strings.ReplaceAll(dir, "$ORIGIN", filepath.Dir(path)))
			}
		}
	}
	return o, nil
}

// search finds libraries by name, as the dynamic linker of this machine does.
type search struct {
	opened string            // the folder of libraries that a program opens by path before others need them
	system map[string]string // name -> path, of the linker's own list
}

func newSearch(opened string) search {
	s := search{opened, map[string]string{}}
	for _, ldconfig := range []string{"ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"} {
		text, err := exec.Command(ldconfig, "-p").Output()
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			name, path, ok := strings.Cut(strings.TrimSpace(line), " => ")
			name, kind, _ := strings.Cut(name, " ")
			if _, known := s.system[name]; ok && !known && strings.Contains(kind, "x86-64") {
				s.system[name] = path
			}
		}
		break
	}
	return s
}

// find is the path of a library that an object asks for; "" where there is none.
func (s search) find(name string, o object) string {
	for _, dir := range slices.Concat([]string{s.opened}, o.paths, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	if path := s.system[name]; path != "" {
		return path
	}
	for _, dir := range []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// closure lists the libraries that these files need, and those that those need, by name. Libraries of a driver,
// which the machine with the card has, are passed over; passed says which.
func (s search) closure(files []string, passed func(name string) bool) (map[string]string, error) {
	found := map[string]string{}
	for queue := files; len(queue) > 0; queue = queue[1:] {
		o, err := readObject(queue[0])
		if err != nil {
			return nil, err
		}
		for _, name := range o.needed {
			if found[name] != "" || passed(name) {
				continue
			}
			path := s.find(name, o)
			if path == "" {
				return nil, fmt.Errorf("%s needs %s, which is not on this machine", queue[0], name)
			}
			found[name] = path
			queue = append(queue, path)
		}
	}
	return found, nil
}
