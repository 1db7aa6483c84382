package datasets

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A source is a place that has the files of a release.
type source interface {
	// title names the place in messages.
	title() string
	// fetch writes the official files into the empty folder dst. What may be
	// of use to a later try it keeps in root, under names of its own.
	fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error
}

// tmpMark follows the name of a folder that is still being filled.
const tmpMark = ".tmp-"

type logFunc = func(format string, args ...any)

// obtain makes dir, complete and verified, from the first source that can. dir
// appears by one rename, so that no half of it is ever seen.
func (r *release) obtain(ctx context.Context, dir string, offline bool, logf logFunc) error {
	if offline {
		return fmt.Errorf("%s is not there and the network is not to be used", dir)
	}
	logf("%s: %s is not there, fetching it", r.name, dir)
	root := filepath.Dir(dir)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	unlock, err := lockFolder(ctx, root)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return nil // another process was faster
	}
	if err := r.sweep(root); err != nil {
		return err
	}
	var failures []error
	for _, s := range r.from {
		err := r.install(ctx, s, dir, logf)
		if err == nil || ctx.Err() != nil {
			return err
		}
		logf("%s: %s: %v", r.name, s.title(), err)
		failures = append(failures, fmt.Errorf("%s: %w", s.title(), err))
	}
	return joinLine(failures)
}

// sweep removes what a killed process left of its attempt. The lock is held, so
// nobody is at work in there.
func (r *release) sweep(root string) error {
	entries, err := os.ReadDir(root)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), r.folder+tmpMark) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, entry.Name())))
		}
	}
	return err
}

// install lets one source fill a temporary folder, verifies it and gives it its name.
func (r *release) install(ctx context.Context, s source, dir string, logf logFunc) error {
	root := filepath.Dir(dir)
	tmp, err := os.MkdirTemp(root, r.folder+tmpMark)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := s.fetch(ctx, r, root, tmp, logf); err != nil {
		return err
	}
	if err := r.verify(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	logf("%s: complete and verified in %s", r.name, dir)
	return nil
}

// joinLine makes one line of several errors.
func joinLine(errs []error) error {
	var all error
	for _, err := range errs {
		if all == nil {
			all = err
		} else {
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}

// writeFile creates the file name in dir and flushes it to the disk, so that a
// later rename of dir cannot outlive its content.
func writeFile(dir, name string, write func(w io.Writer) error) (err error) {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// checkSum compares the content of a whole file with the sum, in hexadecimal.
func checkSum(path string, h hash.Hash, sum string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fmt.Errorf("%s is damaged: its checksum is %s where %s is expected", filepath.Base(path), got, sum)
	}
	return nil
}

// unpack writes those files of a .tar.gz that are wanted into dst.
func unpack(ctx context.Context, archive, dst string, wanted func(name string) bool) error {
	return eachTarFile(ctx, archive, func(name string, content io.Reader) error {
		if !wanted(name) {
			return nil
		}
		return writeFile(dst, name, copyFrom(content))
	})
}

func copyFrom(content io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	}
}

// eachTarFile calls visit for every regular file of a .tar.gz, by its name
// without folders, until ctx ends.
func eachTarFile(ctx context.Context, archive string, visit func(name string, r io.Reader) error) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(archive), err)
	}
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(archive), err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := visit(path.Base(header.Name), files); err != nil {
			return err
		}
	}
}
