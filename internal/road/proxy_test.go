package road

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	module  = "github.com/libtorch-go/libtorch"
	version = "v0.9.0" // under which the checkout is published
)

// publish lays the files of the checkout out as a module proxy does, in a folder: what is committed, and what would be.
func publish(checkout, proxy string) error {
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": `{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`,
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = checkout
	names, err := list.Output()
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	z := zip.NewWriter(file)
	files := strings.Split(strings.TrimRight(string(names), "\x00"), "\x00")
	nested := nestedModules(files)
	for _, name := range files {
		if slices.ContainsFunc(nested, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			continue
		}
		if err := add(z, checkout, name); err != nil {
			file.Close()
			return err
		}
	}
	return errors.Join(z.Close(), file.Close())
}

// nestedModules are the folders of modules within the module, which are no part of it, each with a slash at its end.
func nestedModules(files []string) (dirs []string) {
	for _, name := range files {
		if dir, found := strings.CutSuffix(name, "/go.mod"); found {
			dirs = append(dirs, dir+"/")
		}
	}
	return dirs
}

// add packs one file; what is no regular file is not part of a module.
func add(z *zip.Writer, checkout, name string) error {
	path := filepath.Join(checkout, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := z.Create(module + "@" + version + "/" + name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}
