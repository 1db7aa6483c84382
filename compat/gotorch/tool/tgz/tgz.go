package tgz

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/wangkuiyi/gotorch/vision"
)

// Reader reads the entries of an archive.
type Reader struct {
	*tar.Reader
	g *gzip.Reader
	f *os.File // nil where the archive is no file of the Reader's
}

// OpenFile opens an archive.
func OpenFile(fn string) (*Reader, error) {
	f, err := os.Open(fn)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", fn, err)
	}
	r.f = f
	return r, nil
}

// NewReader reads an archive from r.
func NewReader(r io.Reader) (*Reader, error) {
	g, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return &Reader{Reader: tar.NewReader(g), g: g}, nil
}

// Close closes the file that OpenFile opened.
func (r *Reader) Close() error {
	err := r.g.Close()
	if r.f != nil {
		err = errors.Join(err, r.f.Close())
	}
	return err
}

// Writer writes the entries of an archive.
type Writer struct {
	*tar.Writer
	g *gzip.Writer
	f *os.File // nil where the archive is no file of the Writer's
}

// CreateFile makes an archive.
func CreateFile(fn string) (*Writer, error) {
	f, err := os.Create(fn)
	if err != nil {
		return nil, err
	}
	w := NewWriter(f)
	w.f = f
	return w, nil
}

// NewWriter writes an archive to r. It is nil for nil.
func NewWriter(r io.Writer) *Writer {
	if r == nil {
		return nil
	}
	g := gzip.NewWriter(r)
	return &Writer{Writer: tar.NewWriter(g), g: g}
}

// Close ends the archive, and closes the file that CreateFile made.
func (w *Writer) Close() error {
	err := errors.Join(w.Writer.Close(), w.g.Close())
	if w.f != nil {
		err = errors.Join(err, w.f.Close())
	}
	return err
}

// ListFile lists the regular files of an archive.
func ListFile(fn string) ([]*tar.Header, error) {
	r, err := OpenFile(fn)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return List(r)
}

// List lists the regular files that r still has.
func List(r *Reader) ([]*tar.Header, error) {
	list := []*tar.Header{}
	for {
		header, err := r.Next()
		switch {
		case err == io.EOF:
			return list, nil
		case err != nil:
			return nil, err
		case header.Typeflag == tar.TypeReg:
			list = append(list, header)
		}
	}
}

// SynthesizeTarball writes input.tar.gz with a few images into the folder and returns its path.
func SynthesizeTarball(dir string) (string, error) {
	fn := filepath.Join(dir, "input.tar.gz")
	w, err := CreateFile(fn)
	if err != nil {
		return "", err
	}
	if err := errors.Join(Synthesize(w), w.Close()); err != nil {
		return "", err
	}
	return fn, nil
}

// entries are what Synthesize writes.
var entries = []string{
	"mnist/", "mnist/training/",
	"mnist/training/0/", "mnist/training/0/first.png", "mnist/training/0/second.png",
	"mnist/training/1/", "mnist/training/1/first.png", "mnist/training/1/second.png",
	"mnist/testing/", "mnist/testing/0/", "mnist/testing/0/first.png",
}

// Synthesize writes a few folders and images.
func Synthesize(w *Writer) error {
	var b bytes.Buffer
	if err := png.Encode(&b, vision.SynthesizeImage(2, 2, color.RGBA{0, 0, 255, 255})); err != nil {
		return err
	}
	for _, name := range entries {
		header, content := &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o600}, []byte(nil)
		if !strings.HasSuffix(name, "/") {
			content = b.Bytes()
			header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
		}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
