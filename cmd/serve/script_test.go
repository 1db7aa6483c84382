package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A module of TorchScript is served where the operator permits it, by config.json, by Triton's config or as a classifier of pictures; what
// ends a process ends a child, and what is not what config.json says is refused.
func TestTorchScript(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	save := func(name, source string) {
		m, err := jit.Define("Net", source)
		require.NoError(t, err)
		defer m.Close()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		require.NoError(t, m.Save(filepath.Join(dir, name, "model.pt")))
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	save("twice", "def forward(self, x, by: float = 2.0):\n    return x * by")
	write("twice/config.json", `{"max_batch": 4, "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
		"outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]}`)
	save("triton", "def forward(self, x, y):\n    return x - y")
	write("triton/config.pbtxt", `platform: "pytorch_libtorch" max_batch_size: 8
		input [ { name: "INPUT__1" data_type: TYPE_INT64 dims: [ 1 ] }, { name: "INPUT__0" data_type: TYPE_INT64 dims: [ 1 ] } ]
		output { name: "OUTPUT__0" data_type: TYPE_INT64 dims: 1 }`)
	save("picture", "def forward(self, x):\n    return torch.stack([x.mean([1, 2, 3]), x.amax([1, 2, 3])], 1)")
	write("picture/config.json", `{"labels": ["mean", "most"], "image": {"size": 8}}`)

	for _, permits := range []string{"-torchscript", "-confine"} {
		t.Run(permits, func(t *testing.T) { askScripts(t, begin(t, "-models", dir, permits)) })
	}

	lanes := torch.NewLanes(1)
	defer lanes.Close()
	repository := &repository{dir: dir, lanes: lanes, log: slog.New(slog.DiscardHandler), models: map[string]*model{}}
	require.ErrorContains(t, repository.load(t.Context(), "twice"), "-torchscript permits it")
	repository.trusted.confined = true
	require.NoError(t, repository.load(t.Context(), "twice"))
	require.NoError(t, repository.unload(t.Context(), "twice"))
	repository.trusted.confined = false
	repository.trusted.scripts = true
	for _, c := range []struct{ config, want string }{
		{fmt.Sprintf(`{"sha256": "%064d", "labels": ["a"], "image": {"size": 2}}`, 0), "its SHA-256 is "},
		{`{}`, `expected "inputs" and "outputs" in config.json`},
		{`{"inputs": [{"name": "x", "datatype": "FP31", "shape": [1]}], "outputs": [{"name": "x"}]}`, `there is no datatype "FP31"`},
		{`{"inputs": [{"name": "z", "datatype": "FP32", "shape": [1]}, {"name": "x", "datatype": "FP32", "shape": [1]}],
			"outputs": [{"name": "x", "datatype": "FP32", "shape": [1]}]}`, `no argument for the input "z"`},
	} {
		write("twice/config.json", c.config)
		require.ErrorContains(t, repository.load(t.Context(), "twice"), c.want)
	}
	write("twice/config.json", `{"labels": ["a"], "image": {"size": 2}}`)
	write("twice/model.pt", "damaged")
	require.ErrorContains(t, repository.load(t.Context(), "twice"), "refused in a process of its own")
}

// askScripts asks a server for the three models.
func askScripts(t *testing.T, r *running) {
	infer := func(model string, inputs ...string) (int, string) {
		return r.do("POST", "/v2/models/"+model+"/infer", []byte(`{"inputs":[`+strings.Join(inputs, ",")+`]}`))
	}
	status, text := infer("twice", `{"name":"x","datatype":"FP32","shape":[1,2],"data":[1.5,2]}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"data":[3,4]`)
	status, text = infer("triton", `{"name":"INPUT__0","datatype":"INT64","shape":[1,1],"data":[7]}`,
		`{"name":"INPUT__1","datatype":"INT64","shape":[1,1],"data":[2]}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"data":[5]`)
	status, text = r.do("POST", "/v2/models/picture/classify", photo(t))
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, "most")
	status, text = infer("twice", `{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]}`)
	require.Equal(t, http.StatusBadRequest, status, text)
	require.NoError(t, r.stop())
}
