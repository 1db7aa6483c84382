package datasets

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A release is one published form of a data set: the files it consists of and
// the places that have them.
type release struct {
	name    string // as messages call it
	folder  string // what the unpacked files lie in
	train   []file
	test    []file
	mirrors []string
	// notes are small files that lie beside the others and that nobody reads here.
	notes map[string]string
	// convert writes the files from a package that has them in another form.
	convert func(ctx context.Context, r *release, packed, dst string) error
	// patience is how long a server may send nothing; zero means 20 seconds.
	patience time.Duration
}

// A file is one member of a release.
type file struct {
	name string
	size int // in bytes
	md5  string
}

var cifar10Release = release{
	name:   "CIFAR-10",
	folder: "cifar-10-batches-bin",
	train: []file{
		{"data_batch_1.bin", 10000 * cifarRecord, "5dd7e06a14cb22eb9f671a540d1b7c25"},
		{"data_batch_2.bin", 10000 * cifarRecord, "5ea93a67294ea407fff1d09f752e9692"},
		{"data_batch_3.bin", 10000 * cifarRecord, "942cd6a4bcdd0dd3c604fbe906cb4421"},
		{"data_batch_4.bin", 10000 * cifarRecord, "ae636b3ba5c66a11e91e8cb52e771fcb"},
		{"data_batch_5.bin", 10000 * cifarRecord, "53f37980c15c3d472c316c40844f3f0d"},
	},
	test:    []file{{"test_batch.bin", 10000 * cifarRecord, "803d5f7f4d78ea53de84dbe85f74fb6d"}},
	mirrors: CIFAR10Mirrors(),
	notes:   map[string]string{"batches.meta.txt": strings.Join((*CIFAR10)(nil).Classes(), "\n") + "\n\n"},
	convert: convertSheets,
}

// locate returns the folder that holds, or is to hold, the files under root.
func (r *release) locate(root string) (string, error) {
	if root == "" {
		root, err := DefaultRoot()
		if err != nil {
			return "", err
		}
		return filepath.Join(root, r.folder), nil
	}
	if info, err := os.Stat(root); err != nil {
		return "", fmt.Errorf("datasets: data folder: %w; create it or name another", err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("datasets: data folder: %s is not a folder", root)
	}
	root = filepath.Clean(root)
	if filepath.Base(root) == r.folder {
		return root, nil
	}
	return filepath.Join(root, r.folder), nil
}

// ErrUnavailable is in the error for a data set that is not there and cannot be obtained.
var ErrUnavailable = errors.New("could not be obtained")

// open returns the contents of the files of one half, under root as the caller named it,
// and obtains the release where it is not there: from the mirrors, or from its own where
// there are none.
func (r *release) open(ctx context.Context, root string, train, offline bool, mirrors []string, logf logFunc) ([][]byte, error) {
	if len(mirrors) == 0 {
		mirrors = r.mirrors
	}
	from, err := r.sources(mirrors)
	if err != nil {
		return nil, err
	}
	dir, err := r.locate(root)
	if err != nil {
		return nil, err
	}
	if logf == nil {
		logf = func(string, ...any) {}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if offline {
			return nil, fmt.Errorf("datasets: %s %w: the network is not to be used; put the official files into %s", r.name, ErrUnavailable, dir)
		}
		err := r.obtain(ctx, dir, mirrors, from, logf)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("datasets: %s: %w", r.name, context.Cause(ctx))
		case err != nil:
			return nil, fmt.Errorf("datasets: %s %w: %w; put the official files into %s, or set Mirrors to places that have them", r.name,
				ErrUnavailable, err, dir)
		}
	}
	return r.read(dir, train)
}

// read loads one half of the data set from dir and checks every byte of it.
func (r *release) read(dir string, train bool) (contents [][]byte, err error) {
	files := r.test
	if train {
		files = r.train
	}
	for _, f := range files {
		raw, err := f.read(dir)
		if err != nil {
			return nil, fmt.Errorf("datasets: %s: %w; remove %s to have it obtained again", r.name, err, dir)
		}
		contents = append(contents, raw)
	}
	return contents, nil
}

// files are those of both halves.
func (r *release) files() []file { return slices.Concat(r.train, r.test) }

// find returns the file of that name.
func (r *release) find(name string) (f file, ok bool) {
	i := slices.IndexFunc(r.files(), func(f file) bool { return f.name == name })
	if i < 0 {
		return file{}, false
	}
	return r.files()[i], true
}

// most is how many bytes a download may have: packed, the files need less than plain.
func (r *release) most() (n int64) {
	const slack = 1 << 20
	for _, f := range r.files() {
		n += int64(f.size)
	}
	return n + slack
}

// verify reports the first file of dir that is not as it was published.
func (r *release) verify(dir string) error {
	for _, f := range r.files() {
		if _, err := f.read(dir); err != nil {
			return err
		}
	}
	return nil
}

// read returns the content of the file in dir if it is the published one.
func (f file) read(dir string) ([]byte, error) {
	path := filepath.Join(dir, f.name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() != int64(f.size):
		return nil, fmt.Errorf("%s has %d bytes where %d are expected", path, info.Size(), f.size)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if sum := md5.Sum(raw); hex.EncodeToString(sum[:]) != f.md5 {
		return nil, fmt.Errorf("%s is damaged: its md5 is %x where %s is expected", path, sum, f.md5)
	}
	return raw, nil
}
