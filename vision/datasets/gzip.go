package datasets

import (
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
)

// gzipFiles is a source: a folder on a web server that has each file of a release as .gz.
type gzipFiles struct{ url string }

func (g gzipFiles) title() string { return g.url }

func (g gzipFiles) fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error {
	for _, f := range r.files() {
		part := filepath.Join(root, f.name+".gz.part")
		if err := (archive{url: g.url + f.name + ".gz"}).download(ctx, part, logf); err != nil {
			return err
		}
		err := gunzip(part, dst, f.name)
		if err == nil {
			_, err = f.read(dst)
		}
		// A broken part would spoil every later try as well.
		if err := errors.Join(err, os.Remove(part)); err != nil {
			return err
		}
	}
	return nil
}

// gunzip writes what is in a .gz as the file name in dst.
func gunzip(packed, dst, name string) error {
	f, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return writeFile(dst, name, copyFrom(content))
}

// extract writes the files of a release that a package has as they are into dst.
func (r *release) extract(ctx context.Context, packed, dst string) error {
	return unpack(ctx, packed, dst, r.isFile)
}
