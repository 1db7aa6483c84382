package hub_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/hub"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// badServer serves a file as its manner says, the first so many requests badly.
type badServer struct {
	content []byte
	manner  string
	bad     atomic.Int32
	asked   atomic.Int32
}

func (s *badServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	if s.bad.Add(-1) < 0 {
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
		return
	}
	half := len(s.content) / 2
	switch s.manner {
	case "breaks off":
		w.Header().Set("Content-Length", strconv.Itoa(len(s.content)))
		_, _ = w.Write(s.content[:half])
		panic(http.ErrAbortHandler)
	case "lies about length":
		w.Header().Set("Content-Length", strconv.Itoa(half))
		_, _ = w.Write(s.content[:half])
	case "stalls":
		_, _ = w.Write(s.content[:half])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "never answers":
		<-r.Context().Done()
	case "is overloaded":
		http.Error(w, "later", http.StatusServiceUnavailable)
	case "sends another range":
		w.Header().Set("Content-Range", "bytes 1-2/9")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(s.content[1:3])
	case "has less than before":
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	case "knows no ranges":
		_, _ = w.Write(s.content)
	case "has nothing":
		http.NotFound(w, r)
	}
}

func serve(t *testing.T, manner string, bad int, content []byte) (*badServer, string) {
	s := &badServer{content: content, manner: manner}
	s.bad.Store(int32(bad))
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

// hashedName is a name that tells how the content's sum begins.
func hashedName(content []byte) string {
	sum := sha256.Sum256(content)
	return "weights-" + hex.EncodeToString(sum[:])[:8] + ".pth"
}

// Whatever a server does once or twice, the file comes in the end, and only the right one.
func TestBadServers(t *testing.T) {
	torchtest.NoLeaks(t)
	content := bytes.Repeat([]byte("0123456789"), 50_000)
	name := hashedName(content)
	for manner, partial := range map[string]int{
		"breaks off": 0, "stalls": 0, "never answers": 0, "is overloaded": 0, "sends another range": 10, "has less than before": 10,
		"knows no ranges": 10,
	} {
		t.Run(manner, func(t *testing.T) {
			dir := t.TempDir()
			_, address := serve(t, manner, 2, content)
			if partial > 0 {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name+".partial"), content[:partial], 0o600))
			}
			var last int64
			path, err := hub.Download(context.Background(), address+"/models/"+name, hub.Options{Dir: dir, Stall: 200 * time.Millisecond,
				Progress: func(done, total int64) { last = done }})
			require.NoError(t, err)
			require.Equal(t, filepath.Join(dir, name), path)
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got))
			require.EqualValues(t, len(content), last)
			require.Len(t, entries(t, dir), 1)
		})
	}
}

func entries(t *testing.T, dir string) []os.DirEntry {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	return list
}

func TestErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	content := bytes.Repeat([]byte("x"), 1000)
	name := hashedName(content)
	dir := t.TempDir()
	ctx := context.Background()
	_, address := serve(t, "lies about length", 1, content)
	_, err := hub.Download(ctx, address+"/"+name, hub.Options{Dir: dir})
	require.ErrorIs(t, err, hub.ErrHash)
	require.Empty(t, entries(t, dir), "nothing of it is kept")

	server, address := serve(t, "has nothing", 100, content)
	_, err = hub.Download(ctx, address+"/"+name, hub.Options{Dir: dir})
	require.ErrorContains(t, err, "404")
	require.EqualValues(t, 1, server.asked.Load(), "another try would not help")

	server, address = serve(t, "is overloaded", 100, content)
	_, err = hub.Download(ctx, address+"/"+name, hub.Options{Dir: dir, Retries: 1})
	require.ErrorContains(t, err, "503")
	require.EqualValues(t, 2, server.asked.Load())

	_, address = serve(t, "never answers", 100, content)
	_, err = hub.Download(ctx, address+"/"+name, hub.Options{Dir: dir, Retries: 1, Stall: 20 * time.Millisecond})
	require.ErrorIs(t, err, hub.ErrStalled)
	cancelled, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = hub.Download(cancelled, address+"/"+name, hub.Options{Dir: dir})
	require.ErrorIs(t, err, context.DeadlineExceeded)

	_, err = hub.Download(ctx, address+"/"+name, hub.Options{Dir: dir, Offline: true})
	require.ErrorIs(t, err, hub.ErrOffline)
	for _, bad := range []string{"", "file:///etc/passwd", "http://", "http://a/", "http://a/..", "%"} {
		_, err = hub.Download(ctx, bad, hub.Options{Dir: dir})
		require.Error(t, err, bad)
	}
	_, err = hub.Download(ctx, address+"/x", hub.Options{Dir: dir, FileName: "../x"})
	require.ErrorContains(t, err, "no name of a file")
}

// A transfer that a process did not end is continued by the next one.
func TestResumes(t *testing.T) {
	torchtest.NoLeaks(t)
	content := bytes.Repeat([]byte("0123456789"), 1000)
	name, dir := hashedName(content), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".partial"), content[:7000], 0o600))
	var ranges []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	for range 2 { // the second time it is there
		_, err := hub.Download(context.Background(), server.URL+"/"+name, hub.Options{Dir: dir})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"bytes=7000-"}, ranges)
}

// State dicts come from both kinds of files, and from Python's folder.
func TestLoadStateDict(t *testing.T) {
	torchtest.NoLeaks(t)
	home := t.TempDir()
	t.Setenv("TORCH_HOME", home)
	torch.Scope(func() {
		x := map[string]torch.Tensor{"x": torch.RandN(3)}
		var a, b bytes.Buffer
		require.NoError(t, pt.Write(&a, x))
		require.NoError(t, safetensors.Write(&b, maps.All(x)))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".pth") {
				_, _ = w.Write(a.Bytes())
				return
			}
			_, _ = w.Write(b.Bytes())
		}))
		defer server.Close()
		for _, name := range []string{"x.pth", "x.safetensors"} {
			state, err := hub.LoadStateDict(context.Background(), server.URL+"/"+name)
			require.NoError(t, err)
			torchtest.Equal(t, state["x"], x["x"])
			state["x"].Close()
			require.FileExists(t, filepath.Join(home, "hub", "checkpoints", name))
		}
	})
	t.Setenv("TORCH_HOME", "")
	t.Setenv("XDG_CACHE_HOME", home)
	dir, err := hub.Dir()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(home, "torch", "hub", "checkpoints"), dir)
}

func ExampleDownload() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "weights") }))
	defer server.Close()
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path, err := hub.Download(context.Background(), server.URL+"/model.pth", hub.Options{Dir: dir})
	fmt.Println(filepath.Base(path), err)
	_, err = hub.Download(context.Background(), server.URL+"/model-00000000.pth", hub.Options{Dir: dir})
	fmt.Println(err != nil)
	// Output:
	// model.pth <nil>
	// true
}

func ExampleBar() {
	var b bytes.Buffer
	bar := hub.Bar(&b)
	bar(500_000, 1_000_000)
	bar(1_000_000, 1_000_000)
	fmt.Println(strings.Contains(b.String(), "100% |####"))
	// Output: true
}
