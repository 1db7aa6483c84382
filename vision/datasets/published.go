package datasets

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/flock"
)

// Options are the optional arguments of the functions that load a published data set into torchvision's folders.
type Options struct {
	// Logf receives one line per call: what is downloaded, and how far it is. Nil means silence.
	Logf func(format string, args ...any)
	// Offline forbids the network: only existing files are used.
	Offline bool
	// Mirror is the address of a folder that has the publisher's files, and is asked instead of the publisher.
	Mirror string
}

// A published data set is kept as torchvision keeps it: the publisher's files in a folder below the root, unpacked beside themselves.
// It is there when all that is expected is; torchvision and this package use each other's folders.
type published struct {
	name      string   // as messages call it
	dir       string   // below the root; "" is the root
	expected  []string // files and folders in dir that there are once it is complete
	resources []resource
	unpack    func(ctx context.Context, packed, dir string) error // instead of unpackBeside
}

// A resource is a file as its publisher has it.
type resource struct{ url, md5 string }

func (r resource) file() string { return path.Base(r.url) }

// open returns the folder with the files, which are obtained where they are not there.
func (p *published) open(ctx context.Context, root string, o Options) (dir string, err error) {
	if root, err = existing(root); err != nil {
		return "", err
	}
	dir = filepath.Join(root, p.dir)
	if p.complete(dir) {
		return dir, nil
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	err = errors.New("the network is not to be used")
	if !o.Offline {
		err = p.obtain(ctx, dir, o)
	}
	switch {
	case err == nil:
		return dir, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("datasets: %s: %w", p.name, context.Cause(ctx))
	}
	return "", fmt.Errorf("datasets: %s %w: %w; put %s into %s, or set Mirror to a place that has what its publisher has", p.name,
		ErrUnavailable, err, strings.Join(p.expected, " and "), dir)
}

// existing is the root that a caller named, or the default one.
func existing(root string) (string, error) {
	if root == "" {
		root, err := DefaultRoot()
		if err != nil {
			return "", err
		}
		return root, os.MkdirAll(root, 0o755)
	}
	info, err := os.Stat(root)
	if err != nil {
		return "", fmt.Errorf("datasets: data folder: %w; create it or name another", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("datasets: data folder: %s is not a folder", root)
	}
	return root, nil
}

func (p *published) complete(dir string) bool {
	for _, name := range p.expected {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// obtain downloads and unpacks what is missing. One process at a time does so.
func (p *published) obtain(ctx context.Context, dir string, o Options) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock.Lock(ctx, lock, nil); err != nil || p.complete(dir) {
		return err
	}
	unpack := p.unpack
	if unpack == nil {
		unpack = unpackBeside
	}
	for _, r := range p.resources {
		packed := filepath.Join(dir, r.file())
		if err := p.download(ctx, r, packed, o); err != nil {
			return fmt.Errorf("%s: %w", r.file(), err)
		}
		if err := unpack(ctx, packed, dir); err != nil {
			return fmt.Errorf("%s: %w", r.file(), err)
		}
	}
	if !p.complete(dir) {
		return fmt.Errorf("what its publisher has is not %s", strings.Join(p.expected, " and "))
	}
	o.Logf("%s: complete in %s", p.name, dir)
	return nil
}

// download makes a file with the published sum. It goes on where an earlier run stopped; if that is not the published file, which
// may have changed since, all of it is fetched once more.
func (p *published) download(ctx context.Context, r resource, packed string, o Options) error {
	if sum, err := md5Of(ctx, packed); err == nil && sum == r.md5 {
		return nil
	}
	from := remote{url: r.url}
	if o.Mirror != "" {
		from.url = strings.TrimSuffix(o.Mirror, "/") + "/" + r.file()
	}
	part := packed + partMark + r.md5[:8]
	for {
		_, err := os.Stat(part)
		resumed := err == nil
		if err := from.download(ctx, part, 0, o.Logf); err != nil {
			return err
		}
		sum, err := md5Of(ctx, part)
		switch {
		case err != nil:
			return err
		case sum == r.md5:
			return os.Rename(part, packed)
		}
		err = errors.Join(fmt.Errorf("its md5 is %s where %s is expected", sum, r.md5), os.Remove(part))
		if !resumed {
			return err
		}
		o.Logf("%s: %v; fetching all of it again", r.file(), err)
	}
}

func md5Of(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := md5.New()
	if _, err := io.Copy(sum, until{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// until reads as long as a context lasts.
type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Reader.Read(p)
}

// unpackBeside unpacks a file into the folder that it is in, by the end of its name. What is not packed stays as it is. Each file
// or folder appears by one rename, complete.
func unpackBeside(ctx context.Context, packed, dir string) error {
	unpack, name := unpackTar, filepath.Base(packed)
	switch {
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"), strings.HasSuffix(name, ".tar"):
	case strings.HasSuffix(name, ".zip"):
		unpack = unpackZip
	case strings.HasSuffix(name, ".gz"):
		unpack = unpackFile
	default:
		return nil
	}
	tmp, err := os.MkdirTemp(dir, name+tmpMark)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := unpack(ctx, packed, tmp); err != nil {
		return err
	}
	return moveAll(tmp, dir)
}

// moveAll moves what is in a folder into another one, in place of what has the same names there.
func moveAll(from, to string) error {
	entries, err := os.ReadDir(from)
	for _, entry := range entries {
		place := filepath.Join(to, entry.Name())
		err = cmp.Or(err, os.RemoveAll(place), os.Rename(filepath.Join(from, entry.Name()), place))
	}
	return err
}

// unpackTar unpacks the files of a tar archive, packed with gzip or not. Links and devices are passed over.
func unpackTar(ctx context.Context, packed, dir string) error {
	f, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer f.Close()
	var content io.Reader = until{ctx, f}
	if !strings.HasSuffix(packed, ".tar") {
		if content, err = gzip.NewReader(content); err != nil {
			return err
		}
	}
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeReg {
			if err := place(dir, header.Name, files); err != nil {
				return err
			}
		}
	}
}

func unpackZip(ctx context.Context, packed, dir string) error {
	archive, err := zip.OpenReader(packed)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if !entry.Mode().IsRegular() {
			continue
		}
		content, err := entry.Open()
		if err != nil {
			return err
		}
		err = place(dir, entry.Name, until{ctx, content})
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

// unpackFile unpacks a single file.
func unpackFile(ctx context.Context, packed, dir string) error {
	f, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := gzip.NewReader(until{ctx, f})
	if err != nil {
		return err
	}
	return place(dir, strings.TrimSuffix(filepath.Base(packed), ".gz"), content)
}

// place writes a file of an archive, whose name may not lead out of the folder.
func place(dir, name string, content io.Reader) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("it has a file %q, which lies outside of it", name)
	}
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Dir(file), filepath.Base(file), copyFrom(content))
}

// readFile returns the content of a file of a data set, which has to have the published sum if there is one.
func readFile(dir, name, sum string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing", filepath.Join(dir, name))
	}
	if got := md5.Sum(raw); err == nil && sum != "" && hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("%s is damaged: its md5 is %x where %s is expected", filepath.Join(dir, name), got, sum)
	}
	return raw, err
}

// textLines are the lines of a file of a data set, without empty ones.
func textLines(path string) (lines []string, err error) {
	raw, err := os.ReadFile(path)
	for line := range bytes.Lines(raw) {
		if text := strings.TrimSpace(string(line)); text != "" {
			lines = append(lines, text)
		}
	}
	return lines, err
}
