package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

const tritonConfig = `
# as a user of Triton writes it
name: "sum"
backend: "pytorch"
max_batch_size: 8
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]
output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: 3 label_filename: "labels.txt" }
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 default_queue_policy { max_queue_size: 9 } }
instance_group [ { count: 2 kind: KIND_CPU } ]
version_policy: { specific: { versions: [ 2 ] } }
optimization { graph { level: 1 } }
`

// readText reads a config.pbtxt.
func readText(t *testing.T, text string) (*config, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "labels.txt"), []byte("one\r\ntwo words\n"), 0o600))
	path := filepath.Join(dir, "config.pbtxt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	c := new(config)
	return c, readTriton(path, "sum", c)
}

func TestTritonConfig(t *testing.T) {
	torchtest.NoLeaks(t)
	c, err := readText(t, tritonConfig)
	require.NoError(t, err)
	require.Equal(t, serve.Options{Lanes: 2, MaxBatch: 8, MaxDelay: 100 * time.Microsecond, Preferred: []int{4, 8}, Queue: 9}, c.options())
	require.Equal(t, 2, c.version)
	require.Equal(t, []string{"one", "two words"}, c.Labels)
	require.Equal(t, []string{"instance_group.kind", "optimization"}, c.ignored)

	c, err = readText(t, "max_batch_size: 8")
	require.NoError(t, err)
	require.Equal(t, serve.Options{}, c.options(), "without dynamic_batching requests share no batches")
	require.Equal(t, 8, c.maxRows)

	for text, want := range map[string]string{
		`max_batch: 8`:                 "unknown field: max_batch",
		`max_batch_size: "many"`:       "invalid value for int32",
		`name: "other"`:                `the name is "other", expected that of the folder, "sum"`,
		`platform: "onnxruntime_onnx"`: `expected "pytorch" and "pytorch_libtorch"`,
		`ensemble_scheduling { } input { reshape { shape: 1 } }`: "ensemble_scheduling, input.reshape: this server has nothing",
		`sequence_batching { }`:                                  "sequence_batching: this server has nothing",
		`default_model_filename: "m.pt"`:                         "default_model_filename: this server",
		`version_policy { all { } }`:                             "version_policy.all: this server",
		`version_policy { latest { num_versions: 2 } }`:          "one version is served at a time",
		`version_policy { specific { versions: [1, 2] } }`:       "one version is served at a time",
		`max_batch_size: -1`:                                     "expected 0 or more",
		`dynamic_batching { }`:                                   "for dynamic_batching at least 1",
		`instance_group { count: -2 }`:                           "expected 1 or more",
		`output { label_filename: "none" }`:                      "no such file",
	} {
		_, err := readText(t, text)
		require.ErrorContains(t, err, "config.pbtxt: ", text)
		require.ErrorContains(t, err, want, text)
	}
}

// What a configuration says of inputs and outputs has to be the model's.
func TestTritonFit(t *testing.T) {
	s := func(name string, shape ...int) spec { return spec{Name: name, DType: torch.Float32, Shape: shape} }
	model := serve.Func(serve.Signature{Inputs: []spec{s("x", -1, 3, -1), s("y", -1)}, Outputs: []spec{s("z", -1, 3)}}, nil)
	one := func(what, name, kind, dims string) string {
		return fmt.Sprintf("%s { name: %q data_type: TYPE_%s dims: [%s] }\n", what, name, kind, dims)
	}
	y := one("input", "IN__1", "FP32", "")
	c, err := readText(t, "max_batch_size: 4\n"+one("input", "x", "FP32", "3, 7")+y+one("output", "OUT__0", "FP32", "3"))
	require.NoError(t, err)
	m, err := c.fit(model)
	require.NoError(t, err)
	require.Equal(t, serve.Signature{Inputs: []spec{s("x", -1, 3, 7), s("IN__1", -1)}, Outputs: []spec{s("OUT__0", -1, 3)}}, m.Signature())
	for text, want := range map[string]string{
		one("input", "x", "FP32", "3, 7"):                        "has 1 inputs, the model has 2",
		one("input", "w", "FP32", "3, 7") + y:                    `an input "w", the model has [x float32[-1, 3, -1]`,
		one("input", "x__2", "FP32", "3, 7") + y:                 `an input "x__2"`,
		one("input", "x__99999999999999999999", "FP32", "1") + y: "an input",
		one("input", "x", "FP64", "3, 7") + y:                    "TYPE_FP64[-1 3 7]",
		one("input", "x", "FP32", "4, 7") + y:                    "[-1 4 7]",
		one("input", "x", "FP32", "3") + y:                       "[-1 3] ",
		one("input", "x", "FP32", "3, -2") + y:                   "[-1 3 -2]",
		one("output", "z", "FP32", "-1"):                         "the model has z float32[-1, 3]",
	} {
		c, err := readText(t, "max_batch_size: 4\n"+text)
		require.NoError(t, err)
		_, err = c.fit(model)
		require.ErrorContains(t, err, want, text)
	}
}

// A folder of Triton's is served by its names, its version and its limits.
func tritonFolder(t *testing.T, from string) {
	dir := t.TempDir()
	file, err := os.ReadFile(filepath.Join(from, "sum", "1", "model.pt2"))
	require.NoError(t, err)
	for _, version := range []string{"1", "2", "3"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "sum", version), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sum", version, "model.pt2"), file, 0o600))
	}
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sum", "config.pbtxt"), []byte(text), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sum", "labels.txt"), []byte("a\nb\nc\n"), 0o600))
	config := strings.Replace(tritonConfig, "[ -1 ]", "[ 3 ]", 1)
	write(config)
	r := begin(t, "-models", dir, "-model-control")
	require.Contains(t, r.log.String(), `fields="[instance_group.kind optimization]"`)
	row := `"datatype":"FP32","shape":[1,3],"data":[1,2,3]}`
	ask := func(more string) (int, string) {
		return r.do("POST", "/v2/models/sum/infer", []byte(`{"inputs":[{"name":"y",`+row+`,{"name":"INPUT__0",`+row+`]`+more+`}`))
	}
	status, text := ask("")
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"model_version":"2"`)
	require.Contains(t, text, `{"name":"OUTPUT__0","datatype":"FP32","shape":[1,3],"data":[2,4,6]}`)
	_, text = ask(`,"outputs":[{"name":"OUTPUT__0","parameters":{"classification":1}}]`)
	require.Contains(t, text, `["6.000000:2:c"]`)

	write("max_batch_size: 2")
	status, text = r.do("POST", "/v2/repository/models/sum/load", nil)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, http.StatusOK, r.get("/v2/models/sum/versions/3"), "the newest")
	many := `"datatype":"FP32","shape":[3,3],"data":[1,2,3,4,5,6,7,8,9]}`
	status, text = r.do("POST", "/v2/models/sum/infer", []byte(`{"inputs":[{"name":"x",`+many+`,{"name":"y",`+many+`]}`))
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "3 rows, expected 1 to 2")

	write("max_batch_size: 2 version_policy { specific { versions: 7 } }")
	_, text = r.do("POST", "/v2/repository/models/sum/load", nil)
	require.Contains(t, text, "there is no version 7")
	require.Equal(t, http.StatusOK, r.get("/v2/models/sum/versions/3"), "nothing has changed")
}

// Models are loaded and unloaded over gRPC by both of the published definitions, if the server is told that clients may.
func TestControl(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t, "-model-control")
	ctx := t.Context()
	service := r.url + "/" + pb.GRPCInferenceServiceName
	load := connect.NewClient[pb.RepositoryModelLoadRequest, pb.RepositoryModelLoadResponse](http.DefaultClient,
		service+"/RepositoryModelLoad")
	unload := connect.NewClient[pb.RepositoryModelUnloadRequest, pb.RepositoryModelUnloadResponse](http.DefaultClient,
		service+"/RepositoryModelUnload")
	index := connect.NewClient[pb.RepositoryIndexRequest, pb.RepositoryIndexResponse](http.DefaultClient, service+"/RepositoryIndex")
	states := func(ready bool) (list []string) {
		answer, err := index.CallUnary(ctx, connect.NewRequest(&pb.RepositoryIndexRequest{Ready: ready}))
		require.NoError(t, err)
		for _, m := range answer.Msg.GetModels() {
			list = append(list, m.GetName()+" "+m.GetState()+" "+m.GetReason())
		}
		return list
	}
	require.Equal(t, []string{"cifar10 READY "}, states(true))
	kserve := append([]byte{1<<3 | 2, 7}, "cifar10\x10\x01"...) // its answer: model_name = 1, isLoaded = 2
	gone, err := unload.CallUnary(ctx, connect.NewRequest(&pb.RepositoryModelUnloadRequest{RepositoryName: "cifar10"}))
	require.NoError(t, err)
	require.Equal(t, kserve, []byte(gone.Msg.ProtoReflect().GetUnknown()))
	require.Equal(t, []string{"cifar10 UNAVAILABLE unloaded"}, states(false))
	require.Empty(t, states(true))
	back, err := load.CallUnary(ctx, connect.NewRequest(&pb.RepositoryModelLoadRequest{ModelName: "cifar10"}))
	require.NoError(t, err)
	require.Equal(t, kserve, []byte(back.Msg.ProtoReflect().GetUnknown()))
	require.Equal(t, []string{"cifar10 READY "}, states(true))
	status, text := r.do("POST", "/v2/repository/index", []byte(`{"ready":true}`))
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `[{"name":"cifar10","version":"1","state":"READY","reason":""}]`, text)
	status, text = r.do("GET", "/v2/models/cifar10/config", nil)
	require.Equal(t, http.StatusOK, status)
	require.Regexp(t, `"max_batch_size": *32`, text)

	closed := begin(t)
	for _, name := range []string{"RepositoryModelLoad", "RepositoryModelUnload"} {
		path, body := "/"+pb.GRPCInferenceServiceName+"/"+name, []byte(`{"modelName":"cifar10"}`)
		status, text := closed.do("POST", path, body, "Content-Type", "application/json")
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, text, "-model-control")
	}
}
