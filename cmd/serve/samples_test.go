package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

const samplesSide = 16

// saveNet writes a small network of convolutions, and what it answers to x.
func saveNet(t *testing.T, path string, x torch.Tensor) (want []float32) {
	torch.Scope(func() {
		torch.ManualSeed(0)
		net := nn.Sequential{nn.NewConv2d(3, 32, 3, nn.ConvOptions{Padding: 1}), nn.ReLU{}, nn.NewConv2d(32, 32, 3), nn.ReLU{},
			nn.NewAdaptiveAvgPool2d(1), nn.Flatten{}, nn.NewLinear(32, 4)}
		nn.Eval(net)
		defer nn.Close(net)
		p, err := export.Export(func(x torch.Tensor) torch.Tensor { return net.Forward(x) }, []any{x},
			export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "n", Min: 1, Max: 64}}}})
		require.NoError(t, err)
		defer p.Close()
		require.NoError(t, p.Save(path))
		torch.NoGrad(func() { want = torch.Values[float32](net.Forward(x)) })
	})
	return want
}

// A program in eight bits is calibrated with what its folder has: tensors, or pictures.
func TestInt8(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	folder := filepath.Join(dir, "net")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "photos"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "none"), 0o755))
	torch.ManualSeed(0)
	x := torch.RandN(5, 3, samplesSide, samplesSide)
	defer x.Close()
	want := saveNet(t, filepath.Join(folder, "model.pt2"), x)
	require.NoError(t, safetensors.Save(filepath.Join(folder, "x.safetensors"), maps.All(map[string]torch.Tensor{"x": x})))
	require.NoError(t, safetensors.Save(filepath.Join(folder, "y.safetensors"), maps.All(map[string]torch.Tensor{"y": x})))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "photos", "1.png"), photo(t), 0o600))
	configure := func(config string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o600))
	}
	configure(`{"max_batch": 8, "compile": "fast"}`)
	r := begin(t, "-models", dir, "-model-control")
	body, err := json.Marshal(map[string]any{"inputs": []any{map[string]any{"name": "x", "datatype": "FP32", "shape": x.Shape(),
		"data": torch.Values[float32](x)}}})
	require.NoError(t, err)
	answer := func() []float32 {
		status, text := r.do("POST", "/v2/models/net/infer", body)
		require.Equal(t, http.StatusOK, status, text)
		var got struct{ Outputs []struct{ Data []float32 } }
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		return got.Outputs[0].Data
	}
	require.InDeltaSlice(t, want, answer(), 1e-5)
	load := func(config string) (int, string) {
		configure(config)
		return r.do("POST", "/v2/repository/models/net/load", nil)
	}
	image := fmt.Sprintf(`"image": {"size": %d}`, samplesSide)
	for _, config := range []string{
		`{"compile": "int8", "samples": "x.safetensors"}`,
		`{"compile": "int8", "samples": "photos", ` + image + `}`,
	} {
		status, text := load(config)
		require.Equal(t, http.StatusOK, status, text)
		got := answer()
		require.InDeltaSlice(t, want, got, 5e-2, config)
		require.NotEqual(t, want, got, config)
	}
	for config, want := range map[string]string{
		`{"compile": "int8"}`:                                   `needs "samples"`,
		`{"samples": "x.safetensors"}`:                          `needs "samples"`,
		`{"compile": "int8", "samples": "../x"}`:                "within the folder",
		`{"compile": "int8", "samples": "x"}`:                   "no such file",
		`{"compile": "int8", "samples": "y.safetensors"}`:       `expected those of the inputs, with a row for each sample: ["x"]`,
		`{"compile": "int8", "samples": "photos"}`:              `"image"`,
		`{"compile": "int8", "samples": "none", ` + image + `}`: "no pictures",
		`{"compile": "int7"}`:                                   "expected exact, fast, bfloat16, float16, int8, bfloat16-weights",
	} {
		status, text := load(config)
		require.Equal(t, http.StatusBadRequest, status, config)
		require.Contains(t, text, want, config)
	}
	require.Equal(t, http.StatusOK, r.get("/v2/health/ready"))
}
