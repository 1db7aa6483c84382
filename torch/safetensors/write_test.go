package safetensors_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Views of all kinds are written as the values they stand for.
func TestWriteViews(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(1)
		x, c := torch.RandN(2, 3), torch.TensorOptions{DType: torch.Complex64}.RandN(2, 3)
		want := peer.Run(t, "testdata/views.py", peer.Tensors{"x": x, "c": c})
		leaf := torch.TensorOptions{RequiresGrad: true}.Ones(3)
		leaf.Sgn().Sum().Backward() // its gradient is a tensor without memory
		views := map[string]torch.Tensor{
			"conj":       c.Conj(),
			"neg":        c.Conj().Imag(),
			"turned":     x.T(),
			"expanded":   x.Index(torch.Slice(0, 1)).Expand(4, 3),
			"strided":    x.Index(torch.All, torch.Slice(0, 3, 2)),
			"offset":     x.Index(torch.Slice(1, 2)),
			"number":     x.Index(1, 2),
			"empty":      x.Narrow(0, 0, 0),
			"zero":       leaf.Grad(),
			"large":      x.Index(0, torch.Slice(0, 1)).Expand(3, 1<<19),
			"large conj": c.Select(0, 0).Conj().Expand(1<<18, 3),
		}
		require.True(t, views["conj"].IsConj() && views["neg"].IsNeg())
		var b bytes.Buffer
		require.NoError(t, safetensors.Write(&b, maps.All(views)))
		file, err := safetensors.Read(&b, int64(b.Len()))
		require.NoError(t, err)
		defer file.Close()
		require.Len(t, file.Tensors, len(want))
		for name, got := range file.Tensors {
			t.Log(name)
			torchtest.Equal(t, got, want[name])
			require.Equal(t, 0, got.StorageOffset())
			require.True(t, got.IsContiguous())
		}
	})
}

// What has no bytes that the format could hold is an error, before anything is written.
func TestWriteRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	torch.Scope(func() {
		x, closed := torch.Ones(2, 2), torch.Ones(2)
		closed.Close()
		deep := make([]int, 65)
		for i := range deep {
			deep[i] = 1
		}
		for name, c := range map[string]struct {
			tensor torch.Tensor
			want   string
		}{
			"closed":     {closed, "closed"},
			"undefined":  {torch.Tensor{}, "it is undefined"},
			"sparse":     {x.ToSparse(), "its layout is sparse_coo, which the format lacks; convert it by ToDense"},
			"compressed": {x.ToSparseCSR(), "its layout is sparse_csr"},
			"mkldnn":     {aten.ToMKLDNN(x), "its layout is _mkldnn"},
			"quantized": {aten.QuantizePerTensor(x, 0.5, 0, torch.QInt8),
				"its dtype is qint8, which the format lacks; convert it by To, or by Dequantize"},
			"complex128": {x.To(torch.Complex128), "its dtype is complex128"},
			"meta":       {torch.TensorOptions{Device: torch.Meta}.Ones(2), "it is on the meta device"},
			"meta huge":  {torch.TensorOptions{Device: torch.Meta}.Ones(1).Expand(1 << 62), "meta device"},
			"deep":       {torch.Ones(deep...), "too large for a file"},
			"bytes":      {torch.Ones(1).Expand(1 << 62), "too large for a file"},
			"no memory":  {torch.Ones(1).Expand(1 << 50), "memory"},
		} {
			t.Run(name, func(t *testing.T) {
				path := filepath.Join(dir, "x")
				all := map[string]torch.Tensor{"good": x, "bad": c.tensor}
				err := safetensors.Save(path, maps.All(all))
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, `tensor "bad"`)
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Empty(t, left)
				if name != "no memory" { // which shows when the bytes are wanted
					var b bytes.Buffer
					require.Error(t, safetensors.Write(&b, maps.All(all)))
					require.Zero(t, b.Len())
				}
			})
		}
	})
}

func TestWriteRefusesNames(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(1)
		twice := func(yield func(string, torch.Tensor) bool) { _ = yield("a", x) && yield("a", x) }
		require.ErrorContains(t, safetensors.Write(io.Discard, twice), `tensor "a" cannot be written: its name must be its own`)
		for name, want := range map[string]string{"__metadata__": "its name must be its own", "\xff": "UTF-8"} {
			require.ErrorContains(t, safetensors.Write(io.Discard, maps.All(map[string]torch.Tensor{name: x})), want)
		}
		require.ErrorContains(t, safetensors.Write(io.Discard, maps.All(map[string]torch.Tensor{}),
			safetensors.SaveOptions{Metadata: map[string]string{"a": "\xff"}}), "not UTF-8")
	})
}

// A large tensor is read and written in pieces.
func TestLargeTensor(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(3, 1<<19).To(torch.Float16)
		var b bytes.Buffer
		require.NoError(t, safetensors.Write(&b, maps.All(map[string]torch.Tensor{"x": x, "y": x.T()})))
		content := b.Bytes()
		file, err := safetensors.Read(bytes.NewReader(content), int64(len(content)))
		require.NoError(t, err)
		torchtest.Equal(t, file.Tensors["x"], x)
		torchtest.Equal(t, file.Tensors["y"], x.T().Contiguous())
		file.Close()

		broken := errors.New("the disk is gone")
		_, err = safetensors.Read(io.MultiReader(bytes.NewReader(content[:2<<20]), failing{broken}), int64(len(content)))
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, safetensors.ErrFormat)
		_, err = safetensors.Read(bytes.NewReader(content[:2<<20]), int64(len(content)))
		require.ErrorIs(t, err, safetensors.ErrFormat)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A file may say that it is larger than the machine's memory.
func TestFileLargerThanMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	const size = 1 << 50
	start := file("{"+field("x", "U8", "[1125899906842624]", 0, size)+"}", 0)
	_, err := safetensors.Read(bytes.NewReader(start), int64(len(start))+size)
	require.ErrorContains(t, err, `tensor "x": torch:`)
	require.ErrorContains(t, err, "memory")
}
