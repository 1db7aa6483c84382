package checkpoint

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
)

// disk is what a checkpoint is written with. Tests let each of its calls fail.
type disk interface {
	MkdirTemp(dir, pattern string) (string, error)
	Create(path string) (file, error)
	Rename(from, to string) error
	RemoveAll(path string) error
	Sync(dir string) error
}

// file is a file about to be written.
type file interface {
	io.WriteCloser
	Sync() error
}

// system is the operating system's disk.
type system struct{}

func (system) MkdirTemp(dir, pattern string) (string, error) { return os.MkdirTemp(dir, pattern) }
func (system) Create(path string) (file, error)              { return os.Create(path) }
func (system) Rename(from, to string) error                  { return os.Rename(from, to) }
func (system) RemoveAll(path string) error                   { return os.RemoveAll(path) }
func (system) Sync(dir string) error                         { return atomicfile.SyncDir(dir) }

// hidden is how the names of folders begin that are no checkpoints: those that are being written, and those
// that are being removed.
const hidden = ".checkpoint-"

// sweep removes what a run that was killed left behind.
func sweep(d disk, dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), hidden) {
			if err := d.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFile writes a file and flushes it to the disk.
func writeFile(d disk, path string, write func(io.Writer) error) (err error) {
	f, err := d.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
