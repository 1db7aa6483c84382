package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const partName = "cifar-10-binary.tar.gz.part"

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

func TestDownload(t *testing.T) {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	third := len(packed)/3 + 1
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
			if scene.part != nil {
				require.NoError(t, os.WriteFile(filepath.Join(root, partName), scene.part, 0o644))
			}
			source, seen := serve(t, packed, scene.handler)
			var said journal
			d, err := load(context.Background(), smallRelease(source), root, true, CIFAR10Options{Logf: said.Logf})
			require.NoError(t, err)
			require.False(t, d.Fallback, said.String())
			require.Equal(t, scene.ranges, seen.all())
			requireOnly(t, root, "cifar-10-batches-bin")
			requireSmall(t, root)
			require.Contains(t, said.String(), "complete and verified in "+root)
		})
	}
}

func ranged(from int) string { return fmt.Sprintf("bytes=%d-", from) }

func TestDownloadFails(t *testing.T) {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	altered := smallFiles()
	altered["test_batch.bin"][7]++
	incomplete := smallFiles()
	delete(incomplete, "data_batch_1.bin")

	for _, scene := range []struct {
		name    string
		packed  []byte // what the server has, with the right checksum
		part    []byte
		handler func(http.ResponseWriter, *http.Request, []byte)
		want    string
		left    []string
	}{
		{"not found", packed, nil, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.NotFound(w, r)
		}, "the server answers 404 Not Found", nil},
		{"other bytes", packed, nil, func(w http.ResponseWriter, r *http.Request, packed []byte) {
			_, _ = w.Write(bytes.ToUpper(packed))
		}, partName + " is damaged: its checksum is ", nil},
		{"part of something else", packed, bytes.Repeat([]byte("x"), len(packed)+1), honest,
			partName + " is damaged: its checksum is ", nil},
		{"silence", packed, nil, func(w http.ResponseWriter, r *http.Request, packed []byte) {
			<-r.Context().Done()
		}, "the server sent nothing for 100ms", nil},
		{"not an archive", []byte("<html>This is not the archive</html>"), nil, honest, ": gzip: invalid header", []string{partName}},
		{"altered file", tarball(t, "d", altered), nil, honest, "test_batch.bin is damaged: its md5 is ", nil},
		{"file missing", tarball(t, "d", incomplete), nil, honest, "data_batch_1.bin is missing", nil},
	} {
		t.Run(scene.name, func(t *testing.T) {
			root := t.TempDir()
			if scene.part != nil {
				require.NoError(t, os.WriteFile(filepath.Join(root, partName), scene.part, 0o644))
			}
			source, _ := serve(t, scene.packed, scene.handler)
			if scene.name == "silence" {
				source.patience = 100 * time.Millisecond
			}
			_, err := load(context.Background(), smallRelease(source), root, true, CIFAR10Options{NoFallback: true})
			require.ErrorContains(t, err, scene.want)
			require.NotContains(t, err.Error(), "\n")
			requireOnly(t, root, scene.left...)

			var said journal
			d, err := load(context.Background(), smallRelease(source), root, true, CIFAR10Options{Logf: said.Logf})
			require.NoError(t, err)
			if scene.part != nil {
				require.False(t, d.Fallback, "without the bad part, the next run succeeds")
				return
			}
			require.True(t, d.Fallback)
			require.Contains(t, said.String(), scene.want)
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
	source, seen := serve(t, packed, func(w http.ResponseWriter, r *http.Request, packed []byte) {
		if !first {
			honest(w, r, packed)
			return
		}
		first = false
		w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
		_, _ = w.Write(packed[:half])
		w.(http.Flusher).Flush()
		require.Eventually(t, func() bool {
			info, err := os.Stat(filepath.Join(root, partName))
			return err == nil && info.Size() == int64(half)
		}, 10*time.Second, time.Millisecond)
		cancel(stop)
		<-r.Context().Done()
	})

	_, err := load(ctx, smallRelease(source), root, true, CIFAR10Options{})
	require.ErrorIs(t, err, stop)
	requireOnly(t, root, partName)

	d, err := load(context.Background(), smallRelease(source), root, true, CIFAR10Options{})
	require.NoError(t, err)
	require.False(t, d.Fallback)
	require.Equal(t, []string{"", ranged(half)}, seen.all())
	requireSmall(t, root)
	requireOnly(t, root, "cifar-10-batches-bin")
}

func TestDownloadOnceForMany(t *testing.T) {
	packed := tarball(t, "cifar-10-batches-bin", smallFiles())
	root := t.TempDir()
	source, seen := serve(t, packed, honest)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d, err := load(context.Background(), smallRelease(source), root, false, CIFAR10Options{})
			if err != nil || d.Fallback {
				t.Errorf("fallback or error: %v", err)
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
	require.False(t, d.Fallback)
	require.Contains(t, said.String(), gone.url+": the server answers 404")
	requireOnly(t, root, "cifar-10-batches-bin")

	_, err = load(context.Background(), smallRelease(gone, gone), t.TempDir(), true, CIFAR10Options{NoFallback: true})
	require.ErrorContains(t, err, "404 Not Found; "+gone.url+": the server answers 404 Not Found; put")
}

func TestObtainWaitsForTheLockUntilTheContextEnds(t *testing.T) {
	root := t.TempDir()
	unlock, err := lockFolder(context.Background(), root)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = load(ctx, smallRelease(), root, true, CIFAR10Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	unlock()
	again, err := lockFolder(context.Background(), root)
	require.NoError(t, err)
	again()
}
