package safetensors_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// sharded writes an index of two files and returns its path.
func sharded(t *testing.T, a, b map[string]torch.Tensor) string {
	dir, index := t.TempDir(), ""
	for i, tensors := range []map[string]torch.Tensor{a, b} {
		name := fmt.Sprintf("model-%d-of-2.safetensors", i+1)
		require.NoError(t, safetensors.Save(filepath.Join(dir, name), maps.All(tensors)))
		for key := range tensors {
			if index != "" {
				index += ","
			}
			index += fmt.Sprintf("%q:%q", key, name)
		}
	}
	path := filepath.Join(dir, "model.safetensors.index.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"metadata":{"total_size":96},"weight_map":{`+index+`}}`), 0o600))
	return path
}

// Tensors of single files and of shards are read one by one, or are the mapped file.
func TestOpen(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, y, empty := torch.RandN(3, 4), torch.RandN(5).To(torch.BFloat16), torch.Zeros(2, 0)
		path := sharded(t, map[string]torch.Tensor{"x": x, "empty": empty}, map[string]torch.Tensor{"y": y})
		for _, mapped := range []bool{false, true} {
			r, err := safetensors.Open(path, safetensors.OpenOptions{MMap: mapped})
			require.NoError(t, err)
			require.Equal(t, []string{"empty", "x", "y"}, r.Names())
			require.Equal(t, "96", r.Metadata["total_size"])
			info, err := r.Info("y")
			require.NoError(t, err)
			require.Equal(t, safetensors.Info{DType: torch.BFloat16, Shape: []int{5}, Bytes: 10,
				File: filepath.Join(filepath.Dir(path), "model-2-of-2.safetensors")}, info)
			for name, want := range map[string]torch.Tensor{"x": x, "y": y, "empty": empty} {
				got, err := r.Tensor(name)
				require.NoError(t, err)
				torchtest.Equal(t, got, want)
			}
			_, err = r.Tensor("z")
			require.ErrorIs(t, err, safetensors.ErrTensorNotFound)
			got, err := r.Tensor("x")
			require.NoError(t, err)
			require.NoError(t, r.Close())
			got.AddScalarInPlace(1) // no change of the file, which outlives the reader
			torchtest.Equal(t, got, x.AddScalar(1))
		}
		file, err := safetensors.Load(filepath.Join(filepath.Dir(path), "model-1-of-2.safetensors"))
		require.NoError(t, err)
		torchtest.Equal(t, file.Tensors["x"], x)
		file.Close()
	})
}

func TestOpenRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	for text, kind := range map[string]error{
		`{}`:                             safetensors.ErrHeaderJSON,
		`[`:                              safetensors.ErrHeaderJSON,
		`{"weight_map":{"a":"../a"}}`:    safetensors.ErrHeaderJSON,
		`{"weight_map":{"a":"/etc/a"}}`:  safetensors.ErrHeaderJSON,
		`{"weight_map":{"a":"missing"}}`: os.ErrNotExist,
	} {
		path := filepath.Join(dir, "x.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := safetensors.Open(path)
		require.ErrorIs(t, err, kind, text)
	}
	_, err := safetensors.Open(dir)
	require.ErrorContains(t, err, "expected a file")
}

// Every way in which the reference implementation finds a file malformed has an error of its own.
func TestKindsOfErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	one := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	for name, c := range map[string]struct {
		file []byte
		kind error
	}{
		"small":  {[]byte("abc"), safetensors.ErrHeaderTooSmall},
		"large":  {[]byte("\x01\xe1\xf5\x05\x00\x00\x00\x00{}"), safetensors.ErrHeaderTooLarge},
		"length": {file(one, 0)[:20], safetensors.ErrHeaderLength},
		"start":  {file(" {}", 0), safetensors.ErrHeaderStart},
		"utf8":   {file("{\xff}", 0), safetensors.ErrHeaderUTF8},
		"json":   {file(`{"a":}`, 0), safetensors.ErrHeaderJSON},
		"offset": {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), safetensors.ErrOffset},
		"info":   {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4), safetensors.ErrTensorInfo},
		"dtype":  {file(`{"a":{"dtype":"F31","shape":[2],"data_offsets":[0,4]}}`, 4), safetensors.ErrDType},
		"more":   {file(one, 5), safetensors.ErrIncomplete},
		"pairs":  {file(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`, 1), safetensors.ErrTensorInfo},
		"pair":   {file(`{"a":{"dtype":"F4","shape":[],"data_offsets":[0,1]}}`, 1), safetensors.ErrTensorInfo},
		"sizes":  {file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}}`, 4), safetensors.ErrOverflow},
	} {
		path := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.WriteFile(path, c.file, 0o600))
		_, err := safetensors.Open(path)
		require.ErrorIs(t, err, c.kind, name)
		require.ErrorIs(t, err, safetensors.ErrFormat, name)
	}
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, file(`{"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}`, 3), 0o600))
	_, err := safetensors.Open(path)
	require.ErrorContains(t, err, "F6_E2M3, which this libtorch binding has no tensors of")
}

type tied struct {
	A, B *nn.Linear
}

// A file goes straight into a model.
func TestLoadInto(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		model, half := &tied{nn.NewLinear(3, 2), nn.NewLinear(3, 2)}, nn.NewLinear(3, 2)
		model.B.Weight = model.A.Weight
		one := maps.Collect(nn.StateDict(model))
		delete(one, "b.weight") // as a file of tied weights lacks it
		require.NoError(t, safetensors.Save(path, maps.All(one)))

		other := &tied{nn.NewLinear(3, 2), nn.NewLinear(3, 2)}
		var wrong *safetensors.MisfitError
		err := safetensors.LoadInto(path, nn.StateDict(other))
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, []string{"b.weight"}, wrong.Missing)
		require.ErrorContains(t, err, `Missing key(s) in state_dict: "b.weight"`)
		require.NoError(t, safetensors.LoadInto(path, nn.StateDict(other), safetensors.IntoOptions{NonStrict: true}))
		other.B.Weight = other.A.Weight
		require.NoError(t, safetensors.LoadInto(path, nn.StateDict(other)))
		for name, want := range nn.StateDict(model) {
			torchtest.Equal(t, maps.Collect(nn.StateDict(other))[name], want)
		}
		err = safetensors.LoadInto(path, nn.StateDict(half))
		require.True(t, errors.As(err, &wrong))
		require.Len(t, wrong.Unexpected, 3)

		large := map[string]torch.Tensor{"x": torch.RandN(1 << 20), "y": torch.RandN(1<<20, 3)}
		require.NoError(t, safetensors.Save(path, maps.All(large)))
		torch.ResetPeakMemory()
		before := torch.Stats().HostBytes
		require.NoError(t, safetensors.LoadInto(path, maps.All(large)))
		require.LessOrEqual(t, torch.Stats().HostPeak-before, int64(1<<20), "there is no second copy")

		nn.To(half, torch.BFloat16)
		require.NoError(t, safetensors.Save(path, nn.StateDict(model.A)))
		require.NoError(t, safetensors.LoadInto(path, nn.StateDict(half)))
		torchtest.Equal(t, half.Weight, model.A.Weight.To(torch.BFloat16))

		err = safetensors.LoadInto(path, nn.StateDict(nn.NewLinear(2, 2)))
		require.ErrorContains(t, err,
			"size mismatch for weight: copying a param with shape [2 3] from checkpoint, the shape in current model is [2 2]")
	})
}

// Python's safetensors reads every dtype that is written, and the other way round.
func TestPythonDTypes(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		in := map[string]torch.Tensor{}
		for _, d := range []torch.DType{torch.Float8E4M3FN, torch.Float8E5M2, torch.Float8E4M3FNUZ, torch.Float8E5M2FNUZ, torch.Uint16,
			torch.Uint32, torch.Uint64, torch.Complex64, torch.BFloat16, torch.Bool} {
			in[d.String()] = torch.RandN(3, 4).Abs().To(d)
		}
		packed := torch.FromSlice([]uint8{0x12, 0x34, 0x56, 0x78}, 2, 2)
		in["scales"], in["packed"] = packed.ViewDType(torch.Float8E8M0FNU), packed.ViewDType(torch.Float4E2M1FNX2)
		from, to := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
		require.NoError(t, safetensors.Save(from, maps.All(in), safetensors.SaveOptions{Metadata: map[string]string{"a": "b"}}))
		text, err := peer.Command(t, "-c", "import sys; from safetensors import safe_open; from safetensors.torch import *\n"+
			"save_file(load_file(sys.argv[1]), sys.argv[2], safe_open(sys.argv[1], 'pt').metadata())", from, to).CombinedOutput()
		require.NoError(t, err, string(text))
		back, err := safetensors.Load(to)
		require.NoError(t, err)
		defer back.Close()
		require.Equal(t, "b", back.Metadata["a"])
		out := back.Tensors
		require.Len(t, out, len(in))
		for name, want := range in {
			require.Equal(t, want.DType(), out[name].DType())
			require.Equal(t, want.Bytes(), out[name].Bytes())
		}
	})
}
