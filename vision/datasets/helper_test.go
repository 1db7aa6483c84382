package datasets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// records returns n images of noise, always the same, in the official layout.
func records(first, n int) []byte {
	noise := rand.NewChaCha8([32]byte{1, byte(first)})
	raw := make([]byte, n*cifarRecord)
	_, _ = noise.Read(raw)
	for i := range n {
		raw[i*cifarRecord] = byte((first + i) % 10)
	}
	return raw
}

// smallFiles is the content of a release of 50 images.
func smallFiles() map[string][]byte {
	return map[string][]byte{
		"data_batch_1.bin": records(0, 20),
		"data_batch_2.bin": records(20, 20),
		"test_batch.bin":   records(40, 10),
	}
}

// smallRelease describes smallFiles.
func smallRelease(mirrors ...string) *release {
	content := smallFiles()
	describe := func(names ...string) (files []file) {
		for _, name := range names {
			files = append(files, file{name, len(content[name]), fmt.Sprintf("%x", md5.Sum(content[name]))})
		}
		return files
	}
	return &release{
		name:    "CIFAR-10",
		folder:  "cifar-10-batches-bin",
		train:   describe("data_batch_1.bin", "data_batch_2.bin"),
		test:    describe("test_batch.bin"),
		mirrors: mirrors,
		convert: convertSheets,
	}
}

// tarball packs files as the official archive does, in a folder.
func tarball(t *testing.T, folder string, files map[string][]byte) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755}))
	for name, content := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + name, Size: int64(len(content)), Mode: 0o644}))
		_, err := w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return packed.Bytes()
}

// serve returns a mirror on this machine and the requests it got.
func serve(t *testing.T, packed []byte, handler func(w http.ResponseWriter, r *http.Request, packed []byte)) (mirror string,
	seen *requests) {
	seen = &requests{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.Header.Get("Range"))
		handler(w, r, packed)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/cifar-10-binary.tar.gz", seen
}

// requests collects the Range headers of the requests a server got.
type requests struct {
	mu     sync.Mutex
	ranges []string
}

func (r *requests) add(header string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranges = append(r.ranges, header)
}

func (r *requests) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.ranges...)
}

// honest answers as a good web server does, ranges included.
func honest(w http.ResponseWriter, r *http.Request, packed []byte) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(packed))
}

// journal is a Logf that remembers.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Logf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

// installSmall writes smallFiles where a user would have put them.
func installSmall(t *testing.T, root string) (dir string) {
	dir = filepath.Join(root, "cifar-10-batches-bin")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, content := range smallFiles() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	return dir
}

// requireSmall loads both halves from root, without sources, and compares them.
func requireSmall(t *testing.T, root string) {
	for _, train := range []bool{true, false} {
		d, err := load(context.Background(), smallRelease(), root, train, CIFAR10Options{Offline: true})
		require.NoError(t, err)
		want := newCIFAR10(40)
		if train {
			want.appendRecords(append(records(0, 20), records(20, 20)...))
		} else {
			want.appendRecords(records(40, 10))
		}
		require.Equal(t, want, d)
	}
}

// requireOnly asserts that root has exactly these entries, so nothing half-written.
func requireOnly(t *testing.T, root string, names ...string) {
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	require.ElementsMatch(t, names, got)
}
