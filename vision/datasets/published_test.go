package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// publisher serves files by their names, and counts the requests.
func publisher(t *testing.T, files map[string][]byte) (mirror string, seen *requests) {
	t.Helper()
	seen = &requests{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(path.Base(r.URL.Path) + " " + r.Header.Get("Range"))
		content, ok := files[path.Base(r.URL.Path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		honest(w, r, content)
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

func zipped(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, content := range files {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return packed.Bytes()
}

// describe is a data set of the files that a publisher has.
func describe(files map[string][]byte, expected []string, order ...string) published {
	p := published{name: "Album", dir: "album/raw", expected: expected}
	for _, name := range order {
		p.resources = append(p.resources, resource{"http://publisher.invalid/data/" + name, fmt.Sprintf("%x", md5.Sum(files[name]))})
	}
	return p
}

func TestPublishedFilesAreObtained(t *testing.T) {
	files := map[string][]byte{
		"photos.tar.gz": tarball(t, "photos", map[string][]byte{"a.jpg": noise(1, 5000), "b.jpg": noise(2, 10)}),
		"notes.zip":     zipped(t, map[string][]byte{"notes/one.txt": []byte("one"), "two.txt": []byte("two")}),
		"labels.gz":     gzipped(t, []byte("labels")),
		"setid.mat":     []byte("as it is"),
	}
	expected := []string{"photos", "notes", "two.txt", "labels", "setid.mat"}
	p := describe(files, expected, "photos.tar.gz", "notes.zip", "labels.gz", "setid.mat")
	mirror, seen := publisher(t, files)
	root, log := t.TempDir(), &journal{}
	dir, err := p.open(t.Context(), root, Options{Mirror: mirror + "/", Logf: log.Logf})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "album", "raw"), dir)
	for name, want := range map[string][]byte{"photos/a.jpg": noise(1, 5000), "photos/b.jpg": noise(2, 10), "notes/one.txt": []byte("one"),
		"two.txt": []byte("two"), "labels": []byte("labels"), "setid.mat": []byte("as it is")} {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), name)
	}
	requireOnly(t, dir, append(expected, "photos.tar.gz", "notes.zip", "labels.gz")...)
	require.Contains(t, log.String(), "photos.tar.gz: downloading")
	require.Contains(t, log.String(), "Album: complete in "+dir)
	require.Len(t, seen.all(), 4)

	_, err = p.open(t.Context(), root, Options{Mirror: mirror})
	require.NoError(t, err)
	require.Len(t, seen.all(), 4, "what is there is not asked for")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "photos")))
	_, err = p.open(t.Context(), root, Options{Mirror: mirror})
	require.NoError(t, err)
	require.Len(t, seen.all(), 4, "archives that are there are unpacked again, not asked for")
	require.FileExists(t, filepath.Join(dir, "photos", "a.jpg"))
}

func TestBrokenDownloadsGoOn(t *testing.T) {
	whole := tarball(t, "photos", map[string][]byte{"a.jpg": noise(1, 50_000)})
	files := map[string][]byte{"photos.tar.gz": whole}
	p := describe(files, []string{"photos"}, "photos.tar.gz")
	part := "photos.tar.gz" + partMark + p.resources[0].md5[:8]
	mirror, seen := publisher(t, files)

	root := t.TempDir()
	put(t, whole[:30_000], root, "album", "raw", part)
	dir, err := p.open(t.Context(), root, Options{Mirror: mirror})
	require.NoError(t, err)
	require.Equal(t, []string{"photos.tar.gz bytes=30000-"}, seen.all())
	requireOnly(t, dir, "photos", "photos.tar.gz")

	root = t.TempDir() // what came earlier is of another file
	put(t, noise(9, 30_000), root, "album", "raw", part)
	log := &journal{}
	dir, err = p.open(t.Context(), root, Options{Mirror: mirror, Logf: log.Logf})
	require.NoError(t, err)
	require.Contains(t, log.String(), "fetching all of it again")
	requireOnly(t, dir, "photos", "photos.tar.gz")
}

func TestWhatPublishersMayNotSend(t *testing.T) {
	good := map[string][]byte{"photos.tar.gz": tarball(t, "photos", map[string][]byte{"a.jpg": noise(1, 50)})}
	for want, c := range map[string]struct {
		p    published
		sent map[string][]byte
	}{
		"its md5 is":      {describe(good, []string{"photos"}, "photos.tar.gz"), map[string][]byte{"photos.tar.gz": noise(1, 100)}},
		"404 Not Found":   {describe(good, []string{"photos"}, "photos.tar.gz"), nil},
		"is not pictures": {describe(good, []string{"pictures"}, "photos.tar.gz"), good},
		"which lies outside of it": func() (c struct {
			p    published
			sent map[string][]byte
		}) {
			c.sent = map[string][]byte{"photos.zip": zipped(t, map[string][]byte{"../../evil": []byte("x")})}
			c.p = describe(c.sent, []string{"photos"}, "photos.zip")
			return c
		}(),
	} {
		mirror, _ := publisher(t, c.sent)
		root := t.TempDir()
		_, err := c.p.open(t.Context(), root, Options{Mirror: mirror})
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "set Mirror to a place that has what its publisher has")
		require.NoFileExists(t, filepath.Join(root, "evil"))
		entries, err := os.ReadDir(filepath.Join(root, "album", "raw"))
		require.NoError(t, err)
		for _, entry := range entries {
			require.NotContains(t, entry.Name(), tmpMark, want)
		}
	}
}

func TestWithoutNetworkOrTime(t *testing.T) {
	p := describe(nil, []string{"photos"}, "photos.tar.gz")
	_, err := p.open(t.Context(), t.TempDir(), offline)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "the network is not to be used; put photos into ")
	_, err = p.open(t.Context(), filepath.Join(t.TempDir(), "absent"), offline)
	require.ErrorContains(t, err, "create it or name another")
	file := filepath.Join(t.TempDir(), "file")
	put(t, nil, file)
	_, err = p.open(t.Context(), file, offline)
	require.ErrorContains(t, err, "is not a folder")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	_, err = p.open(ctx, t.TempDir(), Options{Mirror: "http://publisher.invalid"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ErrUnavailable)
}

// Several at a time download once.
func TestOneDownloadForAll(t *testing.T) {
	files := map[string][]byte{"photos.tar.gz": tarball(t, "photos", map[string][]byte{"a.jpg": noise(1, 50_000)})}
	p := describe(files, []string{"photos"}, "photos.tar.gz")
	mirror, seen := publisher(t, files)
	root := t.TempDir()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			dir, err := p.open(t.Context(), root, Options{Mirror: mirror})
			if err == nil {
				_, err = os.Stat(filepath.Join(dir, "photos", "a.jpg"))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Len(t, seen.all(), 1)
}

// EMNIST is one archive of packed files, of which torchvision leaves the unpacked ones.
func TestEMNISTIsUnpackedTwice(t *testing.T) {
	root := t.TempDir()
	packed := zipped(t, map[string][]byte{
		"gzip/emnist-mnist-train-images-idx3-ubyte.gz": gzipped(t, idx(2, 28, 28)),
		"gzip/emnist-mnist-train-labels-idx1-ubyte.gz": gzipped(t, idx(2)),
		"gzip/emnist-mnist-mapping.txt":                []byte("0 48"),
	})
	put(t, packed, root, "gzip.zip")
	require.NoError(t, unpackEMNIST(t.Context(), filepath.Join(root, "gzip.zip"), root))
	requireOnly(t, root, "gzip.zip", "emnist-mnist-train-images-idx3-ubyte", "emnist-mnist-train-labels-idx1-ubyte",
		"emnist-mnist-mapping.txt")
}
