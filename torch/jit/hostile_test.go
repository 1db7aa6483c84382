package jit_test

import (
	"archive/zip"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// hostileNames are modules of which damaged files are made.
var hostileNames = []string{"flow", "outer", "traced", "values", "custom"}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(modules(t), name+".pt"))
	require.NoError(t, err)
	return b
}

// try loads a file, which may succeed or not.
func try(b []byte) error {
	m, err := jit.ReadTrusted(bytes.NewReader(b))
	if err == nil {
		m.Close()
	}
	return err
}

// A file that was cut off is refused, wherever that was.
func TestTruncated(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, name := range hostileNames {
		b := read(t, name)
		for i := range 100 {
			require.ErrorIs(t, try(b[:len(b)*i/100]), jit.ErrFormat, "%s: %d %%", name, i)
		}
	}
}

// A byte that was changed is found, or does not matter.
func TestFlipped(t *testing.T) {
	torchtest.NoLeaks(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range hostileNames {
		b := read(t, name)
		refused := 0
		const flips = 150
		for range flips {
			own := bytes.Clone(b)
			own[r.IntN(len(own))] ^= byte(1 + r.IntN(255))
			if try(own) != nil {
				refused++
			}
		}
		t.Logf("%s: %d of %d refused", name, refused, flips)
		require.Greater(t, refused, 0)
	}
}

// repacked is a module's file with one of its records changed, and with sums that fit.
func repacked(t *testing.T, b []byte, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	from, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	var out bytes.Buffer
	to := zip.NewWriter(&out)
	for _, f := range from.File {
		own, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(own)
		require.NoError(t, err)
		if content = change(strings.SplitN(f.Name, "/", 2)[1], content); content == nil {
			continue
		}
		w, err := to.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, to.Close())
	return out.Bytes()
}

// What libtorch would not survive is refused before it reads it.
func TestRefusedBefore(t *testing.T) {
	torchtest.NoLeaks(t)
	replace := func(record, old, by string) func(string, []byte) []byte {
		return func(name string, content []byte) []byte {
			if strings.HasSuffix(name, record) {
				require.Contains(t, string(content), old)
				return bytes.Replace(content, []byte(old), []byte(by), 1)
			}
			return content
		}
	}
	b := read(t, "outer")
	require.NoError(t, try(repacked(t, b, func(_ string, content []byte) []byte { return content })))
	for name, c := range map[string]struct {
		change func(string, []byte) []byte
		want   string
	}{
		"a storage that is missing": {func(name string, content []byte) []byte {
			if name == "data/0" {
				return nil
			}
			return content
		}, "there is no record of storage"},
		"a storage that is short": {func(name string, content []byte) []byte {
			if name == "data/0" {
				return content[:4]
			}
			return content
		}, "its record 4 bytes"},
		"no module": {func(name string, content []byte) []byte {
			if name == "data.pkl" {
				return nil
			}
			return content
		}, "no data.pkl"},
		"data": {func(name string, content []byte) []byte {
			if name == "constants.pkl" {
				return nil
			}
			return content
		}, "torch/pt reads"},
		"strides that reach too far": {replace("data.pkl", "(K\x04K\x01t", "(K\xffK\x01t"), "does not lie in its"},
		"a pickle that ends":         {replace("data.pkl", "\x80\x02", "\x80\x02N."), "follow the pickle"},
		"a pickle of nothing":        {replace("constants.pkl", "\x80\x02", "\x80\x02!"), "not a sound pickle"},
		"brackets without end": {replace("torch__.py", "return", "return "+strings.Repeat("(", 100_000)),
			"nests more than 256 deep"},
		"blocks without end": {replace("torch__.py", "return", strings.Repeat(" ", 4000)+"return"), "nests more than 256 deep"},
	} {
		require.ErrorContains(t, try(repacked(t, b, c.change)), c.want, name)
	}
	require.ErrorIs(t, try([]byte("not a file")), jit.ErrFormat)
	require.ErrorIs(t, try(nil), jit.ErrFormat)
	_, err := jit.LoadTrusted(filepath.Join(t.TempDir(), "none.pt"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
