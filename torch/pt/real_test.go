package pt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// realFiles names a folder of files that others published, .pt and .pth:
//
//	PT_REAL_FILES=FOLDER go test ./torch/pt -run RealFiles
const realFiles = "PT_REAL_FILES"

// Real files are read, written and read by Python: equal to the bit.
func TestRealFiles(t *testing.T) {
	torchtest.NoLeaks(t)
	folder := os.Getenv(realFiles)
	if folder == "" {
		t.Skip(realFiles, " names no folder")
	}
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	from, to := t.TempDir(), t.TempDir()
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext != ".pt" && ext != ".pth" && ext != ".ckpt" {
			continue
		}
		path := filepath.Join(folder, f.Name())
		v, err := pt.Load(path)
		if err != nil {
			t.Logf("%s is refused: %v", f.Name(), err)
			continue
		}
		require.NoError(t, pt.Save(filepath.Join(to, f.Name()), v), f.Name())
		pt.Close(v)
		absolute, err := filepath.Abs(path)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(absolute, filepath.Join(from, f.Name())))
	}
	t.Log("compared: ", strings.TrimSpace(python(t, "compare", from, to)))
}
