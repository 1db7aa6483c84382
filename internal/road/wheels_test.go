package road

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A folder of wheels takes the place of the network: what it has is checked, what it lacks is told.
func TestWheelsFromAFolder(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python: ", err)
	}
	versions, err := os.ReadFile(filepath.Join(checkout, "third_party", "versions.env"))
	require.NoError(t, err)
	pin := regexp.MustCompile(`\bfilelock==([\d.]+)`).FindSubmatch(versions)
	require.NotNil(t, pin, "a small wheel of one file")
	name := "filelock-" + string(pin[1]) + "-py3-none-any.whl"
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	wheel, err := os.ReadFile(filepath.Join(cache, "libtorch-go", "wheels", name))
	if err != nil {
		t.Skip("the wheel has not been downloaded: ", err)
	}
	folder, dest := t.TempDir(), filepath.Join(t.TempDir(), "dest")
	fetch := func() (string, error) {
		dest := filepath.Dir(dest) + "/../" + filepath.Base(filepath.Dir(dest)) + "/dest" // as where --home is told relative to another folder
		cmd := exec.Command(python, filepath.Join(checkout, "third_party", "scripts", "wheels.py"), t.TempDir(), dest, "--from", folder,
			string(pin[0]))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := fetch()
	require.Error(t, err)
	require.Contains(t, out, folder+" lacks "+name)

	require.NoError(t, os.WriteFile(filepath.Join(folder, name), wheel[1:], 0o644))
	out, err = fetch()
	require.Error(t, err)
	require.Contains(t, out, "hash mismatch: ")
	require.NoDirExists(t, dest)

	require.NoError(t, os.WriteFile(filepath.Join(folder, name), wheel, 0o444))
	out, err = fetch()
	require.NoError(t, err, "%s", out)
	require.FileExists(t, filepath.Join(dest, "filelock", "__init__.py"))

	// A link in the place of the folder goes, and what it leads to stays.
	for _, leads := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		require.NoError(t, os.RemoveAll(dest))
		require.NoError(t, os.Symlink(leads, dest))
		out, err = fetch()
		require.NoError(t, err, "%s", out)
		info, err := os.Lstat(dest)
		require.NoError(t, err)
		require.True(t, info.IsDir())
		left, err := os.ReadDir(filepath.Dir(dest))
		require.NoError(t, err)
		require.Len(t, left, 1, "%v", left)
		left, _ = os.ReadDir(leads)
		require.Empty(t, left)
	}
}

// Nothing is written for a wheel one of whose files would be outside of the folder.
func TestWheelThatReachesOutside(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python: ", err)
	}
	scripts, err := filepath.Abs(filepath.Join(checkout, "third_party", "scripts"))
	require.NoError(t, err)
	for _, name := range []string{"../outside", "a/../../outside", "a.data/purelib/../../outside", filepath.Join(t.TempDir(), "outside")} {
		dir := t.TempDir()
		var wheel bytes.Buffer
		archive := zip.NewWriter(&wheel)
		for _, member := range []string{"inside", name} {
			_, err := archive.Create(member)
			require.NoError(t, err)
		}
		require.NoError(t, archive.Close())
		path := filepath.Join(dir, "a.whl")
		require.NoError(t, os.WriteFile(path, wheel.Bytes(), 0o644))
		dest := filepath.Join(dir, "place", "dest")
		const unpack = "import sys, wheels; from pathlib import Path; wheels.unpack({'a.whl': Path(sys.argv[1])}, Path(sys.argv[2]))"
		cmd := exec.Command(python, "-c", unpack, path, dest)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+scripts, "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "reaches outside its folder: "+name)
		require.NoDirExists(t, dest)
		require.NoFileExists(t, filepath.Join(dest+".partial", "inside"))
		for _, folder := range []string{filepath.Dir(dest), dir} {
			require.NoFileExists(t, filepath.Join(folder, "outside"))
		}
	}
}

// counted is an answer that counts its bytes.
type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

// Of a wheel that only one file is wanted of little else travels, if the server gives parts; otherwise that is told.
func TestPartOfAWheel(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python: ", err)
	}
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	var wheel bytes.Buffer
	archive := zip.NewWriter(&wheel)
	for i, content := range [][]byte{noise, []byte("#pragma once\n"), noise} {
		f, err := archive.Create([]string{"lib/first.so", "include/small.h", "lib/second.so"}[i])
		require.NoError(t, err)
		_, err = f.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/whole" {
			r.Header.Del("Range")
		}
		http.ServeContent(counted{w, &sent}, r, "wheel.whl", time.Time{}, bytes.NewReader(wheel.Bytes()))
	}))
	defer server.Close()
	ask := func(path, member string) (string, error) {
		script := fmt.Sprintf("import sys; sys.path.insert(0, %q); import wheels; print(wheels.remote_part(%q, %q).decode(), end='')",
			filepath.Join(checkout, "third_party", "scripts"), server.URL+path, member)
		cmd := exec.Command(python, "-c", script)
		cmd.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*", "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := ask("/", "include/small.h")
	require.NoError(t, err, out)
	require.Equal(t, "#pragma once\n", out)
	require.Less(t, sent.Load(), int64(1<<20))
	out, err = ask("/", "include/other.h")
	require.Error(t, err)
	require.Contains(t, out, "KeyError")
	out, err = ask("/whole", "include/small.h")
	require.Error(t, err)
	require.Contains(t, out, "the server does not give parts of files")
}
