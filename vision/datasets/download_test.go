package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/flock"
)

// partOf is the file in which a download from that address begins.
func partOf(url string) string {
	id := fnv.New32a()
	id.Write([]byte(url))
	return fmt.Sprintf("cifar-10-batches-bin.part-%08x", id.Sum32())
}

// breakAt sends the first n bytes of what was asked for and hangs up.
func breakAt(n int) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, r *http.Request, packed []byte) {
		var from int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(packed)-1, len(packed)))
			w.Header().Set("Content-Length", strconv.Itoa(len(packed)-from))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
		}
		_, err := w.Write(packed[from:min(from+n, len(packed))])
		if err == nil && from+n < len(packed) {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// long promises more bytes than it sends.
func long(w http.ResponseWriter, r *http.Request, packed []byte) {
	if r.Header.Get("Range") != "" {
		honest(w, r, packed)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(packed)+1000))
	_, _ = w.Write(packed)
}

func TestDownload(t *testing.T) {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	third := len(packed)/3 + 1
	stale := bytes.Repeat([]byte("x"), len(packed)/2)
	for _, scene := range []struct {
		name    string
		part    []byte // of an earlier run
		handler func(http.ResponseWriter, *http.Request, []byte)
		ranges  []string
	}{
		{"at once", nil, honest, []string{""}},
		{"broken connections", nil, breakAt(third), []string{"", ranged(third), ranged(2 * third)}},
		{"rest of an earlier run", packed[:1000], honest, []string{ranged(1000)}},
		{"complete in an earlier run", packed, honest, []string{ranged(len(packed))}},
		{"part of something else", stale, honest, []string{ranged(len(stale)), ""}},
		{"more than the whole", append(packed[:len(packed):len(packed)], stale...), honest, []string{ranged(len(packed) + len(stale)), ""}},
		{"a length that is too large", nil, long, []string{"", ranged(len(packed))}},
		{"server without ranges", packed[:1000], func(w http.ResponseWriter, r *http.Request, packed []byte) {
			_, _ = w.Write(packed)
		}, []string{ranged(1000)}},
		{"size unknown", nil, func(w http.ResponseWriter, r *http.Request, packed []byte) {
			w.(http.Flusher).Flush()
			_, _ = w.Write(packed)
		}, []string{""}},
	} {
		t.Run(scene.name, func(t *testing.T) {
			root := t.TempDir()
			mirror, seen := serve(t, packed, scene.handler)
			if scene.part != nil {
				require.NoError(t, os.WriteFile(filepath.Join(root, partOf(mirror)), scene.part, 0o644))
			}
			var said journal
			d, err := load(context.Background(), smallRelease(mirror), root, true, CIFAR10Options{Logf: said.Logf})
			require.NoError(t, err, said.String())
			require.Equal(t, 40, d.Len())
			require.Equal(t, scene.ranges, seen.all())
			requireOnly(t, root, "cifar-10-batches-bin")
			requireSmall(t, root)
			require.Contains(t, said.String(), "complete and verified in "+root)
		})
	}
}

func ranged(from int) string { return fmt.Sprintf("bytes=%d-", from) }

// endless sends noise until nobody listens any more.
func endless(w http.ResponseWriter, r *http.Request, _ []byte) {
	for noise := make([]byte, 1<<16); r.Context().Err() == nil; {
		if _, err := w.Write(noise); err != nil {
			return
		}
	}
}

// A failure is what a server does wrong, and what comes of it.
type failure struct {
	name    string
	packed  []byte // what the server has
	handler func(http.ResponseWriter, *http.Request, []byte)
	want    string
	left    bool // what has come is kept for a later run
}

func failures(t *testing.T) []failure {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	altered, larger, incomplete := smallFiles(), smallFiles(), smallFiles()
	altered["test_batch.bin"][7]++
	larger["test_batch.bin"] = bytes.Repeat(larger["test_batch.bin"], 100)
	delete(incomplete, "data_batch_1.bin")

	return []failure{
		{"not found", packed, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.NotFound(w, r)
		}, "the server answers 404 Not Found", false},
		{"hangs up at once", packed, func(http.ResponseWriter, *http.Request, []byte) {
			panic(http.ErrAbortHandler)
		}, "EOF", false},
		{"hangs up at the same place", packed, func(w http.ResponseWriter, r *http.Request, packed []byte) {
			breakAt(1000)(w, &http.Request{}, packed)
		}, "unexpected EOF", true},
		{"a length that is too small", packed[:len(packed)/2], honest, ": unexpected EOF", false},
		{"a length that is impossible", packed, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			w.Header().Set("Content-Length", "1000000000000")
			endless(w, r, nil)
		}, "the server sends more than the 1202226 bytes that can be", false},
		{"no end", packed, endless, "the server sends more than the 1202226 bytes that can be", false},
		{"another range", packed, func(w http.ResponseWriter, r *http.Request, packed []byte) {
			if r.Header.Get("Range") == "" {
				breakAt(1000)(w, r, packed)
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(packed)-1, len(packed)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(packed)
		}, `the server sends the range "bytes 0-`, true},
		{"silence", packed, func(w http.ResponseWriter, r *http.Request, packed []byte) {
			<-r.Context().Done()
		}, "it sent nothing for 200ms", false},
		{"silence in the middle", packed, func(w http.ResponseWriter, r *http.Request, packed []byte) {
			_, _ = w.Write(packed[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "it sent nothing for 200ms", true},
		{"not an archive", []byte("<html>This is not the archive</html>"), honest, ": gzip: invalid header", false},
		{"other bytes", bytes.ToUpper(packed), honest, ": ", false},
		{"altered file", tarball(t, "d", altered), honest, "test_batch.bin is damaged: its md5 is ", false},
		{"a file without end", tarball(t, "d", larger), honest, "test_batch.bin has 30731 bytes where 30730 are expected", false},
		{"file missing", tarball(t, "d", incomplete), honest, "data_batch_1.bin is missing", false},
	}
}

func TestDownloadFails(t *testing.T) {
	for _, scene := range failures(t) {
		t.Run(scene.name, func(t *testing.T) {
			root := t.TempDir()
			mirror, _ := serve(t, scene.packed, scene.handler)
			release := smallRelease(mirror)
			if strings.Contains(scene.want, "200ms") {
				release.patience = 200 * time.Millisecond
			}
			var said journal
			d, err := load(context.Background(), release, root, true, CIFAR10Options{Logf: said.Logf})
			require.Nil(t, d, "never other images")
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, "datasets: CIFAR-10 could not be obtained: "+mirror+": ")
			require.ErrorContains(t, err, scene.want)
			require.NotContains(t, err.Error(), "\n")
			require.Contains(t, said.String(), "CIFAR-10: mirror 1 of 1: "+mirror+"\n")
			require.Contains(t, said.String(), "CIFAR-10: mirror 1 of 1 failed: ")
			if scene.left {
				requireOnly(t, root, partOf(mirror))
			} else {
				requireOnly(t, root)
			}
		})
	}
}

func TestDownloadInterruptedGoesOnInALaterRun(t *testing.T) {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	half := len(packed) / 2
	root := t.TempDir()
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(context.Background())
	first := true
	mirror, seen := serve(t, packed, func(w http.ResponseWriter, r *http.Request, packed []byte) {
		if !first {
			honest(w, r, packed)
			return
		}
		first = false
		w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
		_, _ = w.Write(packed[:half])
		w.(http.Flusher).Flush()
		require.Eventually(t, func() bool {
			parts, err := filepath.Glob(filepath.Join(root, "*.part-*"))
			if err != nil || len(parts) != 1 {
				return false
			}
			info, err := os.Stat(parts[0])
			return err == nil && info.Size() == int64(half)
		}, 10*time.Second, time.Millisecond)
		cancel(stop)
		<-r.Context().Done()
	})

	_, err := load(ctx, smallRelease(mirror), root, true, CIFAR10Options{})
	require.ErrorIs(t, err, stop)
	requireOnly(t, root, partOf(mirror))

	d, err := load(context.Background(), smallRelease(mirror), root, true, CIFAR10Options{})
	require.NoError(t, err)
	require.Equal(t, 40, d.Len())
	require.Equal(t, []string{"", ranged(half)}, seen.all())
	requireSmall(t, root)
	requireOnly(t, root, "cifar-10-batches-bin")
}

func TestDownloadOnceForMany(t *testing.T) {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	root := t.TempDir()
	mirror, seen := serve(t, packed, honest)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d, err := load(context.Background(), smallRelease(mirror), root, false, CIFAR10Options{})
			if err != nil || d.Len() != 10 {
				t.Errorf("the test images did not come: %v", err)
			}
		})
	}
	all.Wait()
	require.Len(t, seen.all(), 1)
}

func TestObtainSweepsAndTriesTheNextSource(t *testing.T) {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	gone, _ := serve(t, packed, func(w http.ResponseWriter, r *http.Request, _ []byte) { http.NotFound(w, r) })
	good, _ := serve(t, packed, honest)
	root := filepath.Join(t.TempDir(), "a folder [of mine")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "cifar-10-batches-bin.tmp-123", "x"), 0o755))

	var said journal
	d, err := load(context.Background(), smallRelease(gone, good), root, true, CIFAR10Options{Logf: said.Logf})
	require.NoError(t, err)
	require.Equal(t, 40, d.Len())
	require.Contains(t, said.String(), "CIFAR-10: mirror 1 of 2: "+gone+"\nCIFAR-10: mirror 1 of 2 failed: the server answers 404 Not Found\n"+
		"CIFAR-10: mirror 2 of 2: "+good+"\n")
	requireOnly(t, root, "cifar-10-batches-bin")

	_, err = load(context.Background(), smallRelease(gone, gone), t.TempDir(), true, CIFAR10Options{})
	require.ErrorContains(t, err, "404 Not Found; "+gone+": the server answers 404 Not Found; put")
}

func TestObtainWaitsForTheLockUntilTheContextEnds(t *testing.T) {
	root := t.TempDir()
	folder, err := os.Open(root)
	require.NoError(t, err)
	defer folder.Close()
	require.NoError(t, flock.Lock(t.Context(), folder, nil))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = load(ctx, smallRelease(), root, true, CIFAR10Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
