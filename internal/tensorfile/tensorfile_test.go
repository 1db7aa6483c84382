package tensorfile_test

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/tensorfile"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Parts of all sizes come as they are in the file, those of several blocks too.
func TestRead(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "x")
	content := make([]byte, 40<<20)
	for i := range content {
		content[i] = byte(i * 31 >> 3)
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	torch.Scope(func() {
		var parts []tensorfile.Part
		at := int64(3)
		for _, n := range []int{0, 1, 5, 1 << 16, 9 << 20} {
			x := torch.TensorOptions{DType: torch.Int32}.Zeros(n)
			parts = append(parts, tensorfile.Part{File: f, At: at, Into: x})
			at += int64(4 * n)
		}
		before := parts[4].Into.Version()
		_, err := tensorfile.Read(parts)
		require.NoError(t, err)
		require.Greater(t, parts[4].Into.Version(), before, "autograd sees that it was written to")
		for _, p := range parts {
			want := content[p.At : p.At+int64(4*p.Into.NumEl())]
			require.Equal(t, sha256.Sum256(want), sha256.Sum256(p.Into.Bytes()))
		}

		parts[3].At = int64(len(content)) - 100
		failed, err := tensorfile.Read(parts)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, 3, failed)
		parts[3].At = -1
		_, err = tensorfile.Read(parts)
		require.ErrorContains(t, err, "invalid argument")
		parts[3] = tensorfile.Part{File: f, Into: torch.Zeros(2).Conj().Expand(2, 2)}
		_, err = tensorfile.Read(parts)
		var wrong *torch.Error
		require.ErrorAs(t, err, &wrong)
		folder, err := os.Open(filepath.Dir(path))
		require.NoError(t, err)
		defer folder.Close()
		_, err = tensorfile.Read([]tensorfile.Part{{File: folder, Into: parts[2].Into}})
		require.ErrorContains(t, err, "is a directory")
	})
}
