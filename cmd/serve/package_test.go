package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

const pythonPackage = `
import sys, torch
class Net(torch.nn.Module):
    def forward(self, x): return {"twice": x * 2}
rows = torch.export.Dim("rows")
program = torch.export.export(Net(), (torch.ones(3, 2),), dynamic_shapes={"x": {0: rows}})
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
`

// A package of AOTInductor is served where the operator permits it, and only the one that config.json means.
func TestAOTI(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "net", "model.pt2")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
	out, err := peer.Command(t, "-c", pythonPackage, path).CombinedOutput()
	require.NoError(t, err, string(out))
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "net", "config.json"), []byte(text), 0o600))
	}
	write(`{"max_batch": 4}`)
	r := begin(t, "-models", dir, "-aoti")
	infer := func(input string) (int, string) {
		return r.do("POST", "/v2/models/net/infer", []byte(`{"inputs":[{"name":"input","datatype":"FP32",`+input+`}]}`))
	}
	status, text := infer(`"shape":[1,2],"data":[1.5,2]`)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"name":"twice"`)
	require.Contains(t, text, `"data":[3,4]`)
	status, text = infer(`"shape":[1,3],"data":[1,2,3]`)
	require.Equal(t, http.StatusBadRequest, status, text)
	require.NoError(t, r.stop())

	lanes := torch.NewLanes(1)
	defer lanes.Close()
	repository := &repository{dir: dir, lanes: lanes, log: slog.New(slog.DiscardHandler), models: map[string]*model{}}
	require.ErrorContains(t, repository.load(t.Context(), "net"), "-aoti permits it")
	repository.trusted.packages = true
	write(`{"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
		"outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]}`)
	require.NoError(t, repository.load(t.Context(), "net"))
	require.Equal(t, "x", repository.find("net").server.Signature().Inputs[0].Name)
	require.NoError(t, repository.unload(t.Context(), "net"))
	for _, c := range []struct{ config, want string }{
		{fmt.Sprintf(`{"sha256": "%064d"}`, 0), "its SHA-256 is "},
		{`{"inputs": [{"name": "x", "datatype": "FP31", "shape": [1]}]}`, `there is no datatype "FP31"`},
		{`{"outputs": [{"name": "x", "datatype": "FP31", "shape": [1]}]}`, `there is no datatype "FP31"`},
		{`{"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, -1]}]}`, "only the first size"},
		{`{"outputs": [{"name": "", "datatype": "FP32", "shape": [1]}]}`, "it is empty"},
	} {
		write(c.config)
		require.ErrorContains(t, repository.load(t.Context(), "net"), c.want)
	}
}
