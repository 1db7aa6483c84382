package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/flock"
)

// Write writes a file beside path and renames it over path once it is on the disk. It removes what writers
// of the same path that were killed left there.
func Write(path string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	if err := sweep(path); err != nil {
		return err
	}
	f, err := create(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	const readable = 0o644
	if err := f.Chmod(readable); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir) // the rename itself must reach the disk
}

// SyncDir has what happened to the names in a folder reach the disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// What the names of temporary files have before and behind the name of the file and a number.
const (
	before = "."
	behind = ".tmp"
)

// create makes the temporary file, locked as long as its writer lives: that is how others see that it is no stray.
func create(path string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(filepath.Dir(path), before+filepath.Base(path)+".*"+behind)
		if err != nil {
			return nil, err
		}
		_, _ = flock.Try(f) // file systems without locks have no sweepers either
		if flock.Same(f, f.Name()) {
			return f, nil
		}
		if err := f.Close(); err != nil { // a sweeper was faster than the lock
			return nil, err
		}
	}
}

// sweep removes temporary files of path whose writers are gone.
func sweep(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	for _, name := range names {
		number, ok := strings.CutPrefix(name, before+filepath.Base(path)+".")
		number, temporary := strings.CutSuffix(number, behind)
		if !ok || !temporary || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if err := removeStray(filepath.Join(dir.Name(), name)); err != nil {
			return err
		}
	}
	return nil
}

// removeStray removes a file unless somebody has it locked.
func removeStray(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if free, _ := flock.Try(f); !free { // an error is a file system without locks
		return nil
	}
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
