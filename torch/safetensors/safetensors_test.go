package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestRoundTrip(t *testing.T) {
	torchtest.NoLeaks(t)
	dtypes := []torch.DType{
		torch.Bool, torch.Uint8, torch.Int8, torch.Int16, torch.Int32, torch.Int64, torch.Uint16, torch.Uint32, torch.Uint64,
		torch.Float16, torch.BFloat16, torch.Float32, torch.Float64, torch.Float8E5M2, torch.Float8E4M3FN, torch.Complex64,
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	torch.Scope(func() {
		tensors := map[string]torch.Tensor{"empty": torch.Zeros(3, 0), "number": torch.FromValue(float32(7)), "turned": torch.RandN(3, 5).T()}
		for _, d := range dtypes {
			tensors[d.String()] = torch.RandN(4, 3).MulScalar(3).To(torch.Float32).To(d)
		}
		require.NoError(t, safetensors.Save(path, maps.All(tensors),
			safetensors.SaveOptions{Metadata: map[string]string{"epoch": "3", "quote": `"ü`}}))

		file, err := safetensors.Load(path)
		require.NoError(t, err)
		defer file.Close()
		require.Equal(t, map[string]string{"epoch": "3", "quote": `"ü`}, file.Metadata)
		require.Len(t, file.Tensors, len(tensors))
		for name, want := range tensors {
			got := file.Tensors[name]
			require.Equal(t, want.DType(), got.DType(), name)
			require.Equal(t, want.Shape(), got.Shape(), name)
			require.Equal(t, want.Bytes(), got.Bytes(), name)
		}
	})
}

func file(header string, data int) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, uint64(len(header)))
	b.WriteString(header)
	b.Write(make([]byte, data))
	return b.Bytes()
}

func TestMalformed(t *testing.T) {
	torchtest.NoLeaks(t)
	one := func(dtype, shape string, begin, end int) string {
		return fmt.Sprintf(`"a":{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, dtype, shape, begin, end)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"no bytes":        {nil, "ends too soon"},
		"only a prefix":   {[]byte{1, 2, 3}, "ends too soon"},
		"header too long": {[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, '{', '}'}, "header would have"},
		"not JSON":        {file("hello", 0), "not JSON"},
		"a list":          {file("[]", 0), "not JSON"},
		"unknown dtype":   {file("{"+one("F99", "[1]", 0, 4)+"}", 4), "not known"},
		"negative size":   {file("{"+one("F32", "[-1]", 0, 4)+"}", 4), "has the element"},
		"overflow":        {file("{"+one("F32", "[4611686018427387904,4]", 0, 0)+"}", 0), "impossible shape"},
		"size and shape":  {file("{"+one("F32", "[2]", 0, 4)+"}", 4), "needs 8 bytes"},
		"gap":             {file("{"+one("F32", "[1]", 4, 8)+"}", 8), "expected it to start at 0"},
		"past the end":    {file("{"+one("F32", "[2]", 0, 8)+"}", 4), "lies at bytes 0 to 8"},
		"rest":            {file("{"+one("F32", "[1]", 0, 4)+"}", 5), "belong to no tensor"},
		"overlap": {file("{"+one("F32", "[1]", 0, 4)+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 8),
			"expected it to start at 4"},
		"backwards":        {file("{"+one("U8", "[0]", 4, 4)+"}", 4), "expected it to start at 0"},
		"metadata numbers": {file(`{"__metadata__":{"a":1}}`, 0), "__metadata__"},
		"offsets missing": {file(`{"a":{"dtype":"F32","shape":[1]}}`, 4),
			"tensor \"a\" has shape [1] and data_offsets [], expected a list and two numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.safetensors")
			require.NoError(t, os.WriteFile(path, c.content, 0o644))
			_, err := safetensors.Load(path)
			require.ErrorIs(t, err, safetensors.ErrFormat)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestOutsideWorld(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	_, err := safetensors.Load(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = safetensors.Load(dir)
	require.ErrorContains(t, err, "expected a file")

	torch.Scope(func() {
		x := map[string]torch.Tensor{"x": torch.Ones(2)}
		require.ErrorContains(t, safetensors.Save(filepath.Join(dir, "no", "x"), maps.All(x)), "cannot write")
		closed := torch.Ones(2)
		closed.Close()
		err := safetensors.Save(filepath.Join(dir, "half"), maps.All(map[string]torch.Tensor{"x": closed}))
		require.ErrorIs(t, err, torch.ErrClosed)
		x["q"] = torch.Ones(2).To(torch.Complex128)
		require.ErrorContains(t, safetensors.Save(filepath.Join(dir, "half"), maps.All(x)), "complex128")
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "a failed Save must leave nothing behind")
}

func Example() {
	path := filepath.Join(os.TempDir(), "example.safetensors")
	defer os.Remove(path)
	x := torch.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	if err := safetensors.Save(path, maps.All(map[string]torch.Tensor{"weight": x})); err != nil {
		fmt.Println(err)
		return
	}
	file, err := safetensors.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	fmt.Println(strings.ReplaceAll(file.Tensors["weight"].String(), "\n", " "))
	// Output: tensor([[1., 2.],         [3., 4.]])
}
