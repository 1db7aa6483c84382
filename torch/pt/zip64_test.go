package pt

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// sparseFile leaves holes where pieces of zeros are written.
type sparseFile struct{ *os.File }

var zeros = make([]byte, piece)

func (s sparseFile) Write(b []byte) (int, error) {
	if len(b) == piece && &b[0] == &zeros[0] {
		_, err := s.Seek(int64(len(b)), io.SeekCurrent)
		return len(b), err
	}
	return s.File.Write(b)
}

// A file of more than 4 GB, most of it holes, is read here and by Python: the storage and what lies behind it.
func TestFilesOfMoreThan4GB(t *testing.T) {
	torchtest.NoLeaks(t)
	const n = 4200 << 20
	path := filepath.Join(t.TempDir(), "large.pt")
	f, err := os.Create(path)
	require.NoError(t, err)
	a := archive.NewWriter(sparseFile{f}, "archive")
	byteTensor := func(key string, size int64) string {
		return tensor(refOf("ctorch\nByteStorage\n", key, size), 0, num(size)+"\x85", "K\x01\x85")
	}
	a.Text("data.pkl", proto+byteTensor("0", n)+byteTensor("1", 4)+"\x86.")
	a.Text("byteorder", "little")
	a.Record("data/0", n, func(w io.Writer) error {
		for range n / piece {
			if _, err := w.Write(zeros); err != nil {
				return err
			}
		}
		return nil
	})
	a.Text("data/1", "\x01\x02\x03\x04")
	a.Text("version", "3\n")
	require.NoError(t, a.Finish())
	require.NoError(t, f.Close())

	v, err := Load(path, LoadOptions{MMap: true})
	require.NoError(t, err)
	list := v.(Tuple)
	require.Equal(t, n, list[0].(torch.Tensor).NumEl())
	require.Equal(t, []byte{1, 2, 3, 4}, list[1].(torch.Tensor).Bytes())
	Close(v)
	out, err := peer.Command(t, "-c",
		"import sys, torch; a, b = torch.load(sys.argv[1], weights_only=True, mmap=True); print(a.shape[0], a[-1].item(), b.tolist())",
		path).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, fmt.Sprintln(n, 0, "[1, 2, 3, 4]"), string(out))
}
