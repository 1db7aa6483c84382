package datasets

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/flock"
)

// A source is a place that has the files of a release, as a mirror names it.
type source interface {
	// fetch writes the official files into the empty folder dst. What may be
	// of use to a later try it keeps in root, under a name that begins with the
	// release's folder and partMark.
	fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error
}

// What follows the name of a folder that is still being filled, and that of an unfinished download.
const (
	tmpMark  = ".tmp-"
	partMark = ".part-"
)

type logFunc = func(format string, args ...any)

// obtain makes dir, complete and verified, from the first mirror that can. dir
// appears by one rename, so that no half of it is ever seen.
func (r *release) obtain(ctx context.Context, dir string, mirrors []string, from []source, logf logFunc) error {
	logf("%s: %s is not there, fetching it", r.name, dir)
	root := filepath.Dir(dir)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	lock, err := os.Open(root) // the lock is on the folder itself
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock.Lock(ctx, lock, nil); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return nil // another process was faster
	}
	if err := r.sweep(root, tmpMark); err != nil {
		return err
	}
	var failures []error
	for i, mirror := range mirrors {
		logf("%s: mirror %d of %d: %s", r.name, i+1, len(mirrors), mirror)
		err := r.install(ctx, from[i], dir, logf)
		if err == nil {
			return r.sweep(root, partMark)
		}
		if ctx.Err() != nil {
			return err
		}
		logf("%s: mirror %d of %d failed: %v", r.name, i+1, len(mirrors), err)
		failures = append(failures, fmt.Errorf("%s: %w", mirror, err))
	}
	return joinLine(failures)
}

// sweep removes what an attempt left, under names with that mark. The lock is held, so nobody
// is at work in there.
func (r *release) sweep(root, mark string) error {
	entries, err := os.ReadDir(root)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), r.folder+mark) {
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
	for name, text := range r.notes {
		if err := writeFile(tmp, name, copyFrom(strings.NewReader(text))); err != nil {
			return err
		}
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

func copyFrom(content io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	}
}

// take writes content, which a source has under that name, into dst if it is a file of the
// release, as it is or packed with gzip. Anything else it passes over.
func (r *release) take(name string, content io.Reader, dst string) error {
	f, ok := r.find(name)
	if !ok {
		plain, isPacked := strings.CutSuffix(name, ".gz")
		if f, ok = r.find(plain); !ok || !isPacked {
			return nil
		}
		unzipped, err := gzip.NewReader(content)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		content = unzipped
	}
	// One byte too many is enough to be found out.
	err := writeFile(dst, f.name, copyFrom(io.LimitReader(content, int64(f.size)+1)))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// unpack writes the files of the release that are in a .tar.gz into dst. If it has none of them
// as they are, it may have them in the form that convert reads.
func (r *release) unpack(ctx context.Context, packed, dst string) error {
	err := eachTarFile(ctx, packed, func(name string, content io.Reader) error { return r.take(name, content, dst) })
	if err != nil || r.convert == nil {
		return err
	}
	if taken, err := os.ReadDir(dst); err != nil || len(taken) > 0 {
		return err
	}
	return r.convert(ctx, r, packed, dst)
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
