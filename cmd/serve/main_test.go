package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// asProgram in the environment makes the test binary the program itself.
const asProgram = "SERVE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	jit.InspectChild()
	if os.Getenv(asProgram) != "" {
		main()
	}
	torchtest.Main(m)
}

// patience is how long a test waits for what is certain to come, on a machine that may have much else to do; patient are the flags of a
// server that waits as long.
const patience = 5 * time.Minute

var patient = []string{"-timeout", patience.String(), "-drain", patience.String()}

// A running is a server that a test has started.
type running struct {
	t    *testing.T
	url  string
	pid  int // of a process of its own
	stop func() error
	log  *clitest.Console
}

// begin starts a server as the command line would.
func begin(t *testing.T, args ...string) *running {
	t.Helper()
	var f flags
	require.NoError(t, f.parse(args, io.Discard))
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	r := &running{t: t, url: "http://" + listener.Addr().String(), log: &clitest.Console{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- f.serve(ctx, listener, slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		return <-ended
	})
	t.Cleanup(func() { require.NoError(t, r.stop()) })
	require.Eventually(t, func() bool { return r.get("/v2/health/ready") == http.StatusOK }, patience, 10*time.Millisecond, "%v", r.log)
	return r
}

func (r *running) get(path string) int {
	status, _ := r.do("GET", path, nil)
	return status
}

// do sends a request with pairs of a header's name and its value.
func (r *running) do(method, path string, body []byte, header ...string) (status int, answer string) {
	req, err := http.NewRequest(method, r.url+path, bytes.NewReader(body))
	require.NoError(r.t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	var failed struct{ Error string }
	if json.Unmarshal(text, &failed) == nil && failed.Error != "" {
		return resp.StatusCode, failed.Error
	}
	return resp.StatusCode, string(text)
}

// echo is a model that returns what it gets.
func echo(d torch.DType) serve.Model {
	in, out := serve.Spec{Name: "input", DType: d, Shape: []int{-1, 2}}, serve.Spec{Name: "output", DType: d, Shape: []int{-1, 2}}
	same := func(in []torch.Tensor) []torch.Tensor { return in }
	return serve.Func(serve.Signature{Inputs: []serve.Spec{in}, Outputs: []serve.Spec{out}}, same)
}

// photo is a JPEG file.
func photo(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 90, 60))
	for y := range 60 {
		for x := range 90 {
			img.Set(x, y, color.RGBA{uint8(3 * x), uint8(4 * y), uint8(x * y), 255})
		}
	}
	var file bytes.Buffer
	require.NoError(t, jpeg.Encode(&file, img, nil))
	return file.Bytes()
}

// What Python exports is served.
func TestFolder(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	out, err := peer.Command(t, "testdata/models.py", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Run("tritonclient", func(t *testing.T) { tritonClient(t, dir) })
	t.Run("triton", func(t *testing.T) { tritonFolder(t, dir) })
	t.Run("versions", func(t *testing.T) { versions(t, dir) })
}

// The built-in model classifies pictures, over each of the ways there are.
func TestBuiltIn(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t)
	status, text := r.do("POST", "/v2/models/cifar10/classify", photo(t))
	require.Equal(t, http.StatusOK, status, text)
	var top struct{ Classes []class }
	require.NoError(t, json.Unmarshal([]byte(text), &top))
	require.Len(t, top.Classes, 5)
	require.NotEmpty(t, top.Classes[0].Label)

	pixels := strings.Repeat("0.5,", 3*32*32-1) + "0.5"
	body := `{"id":"a","inputs":[{"name":"image","datatype":"FP32","shape":[1,3,32,32],"data":[` + pixels + `]}]}`
	status, text = r.do("POST", "/v2/models/cifar10/versions/1/infer", []byte(body))
	require.Equal(t, http.StatusOK, status, text)
	var answer inferResponse
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	require.Equal(t, "a", answer.ID)
	require.Equal(t, []int{1, 10}, answer.Outputs[0].Shape)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(body))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	status, again := r.do("POST", "/v2/models/cifar10/infer", packed.Bytes(), "Content-Encoding", "gzip")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, text, again)

	status, text = r.do("GET", "/", nil)
	require.Equal(t, http.StatusOK, status)
	require.NotRegexp(t, `(src|href)="?(https?:)?//`, text, "the page needs nothing from elsewhere")
	status, text = r.do("GET", "/metrics", nil)
	require.Equal(t, http.StatusOK, status)
	for _, line := range []string{
		`nv_inference_request_success{model="cifar10",version="1"} 3`, `nv_inference_count{model="cifar10",version="1"} 3`,
		"# TYPE nv_inference_queue_duration_us counter", `libtorch_request_seconds{model="cifar10",version="1",quantile="0.99"} `,
	} {
		require.Contains(t, text, line)
	}
	require.Equal(t, http.StatusOK, r.get("/v2/models/cifar10/stats"))
}

// What cannot be answered is refused with a sentence, before much is done for it.
func TestRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t, "-max-body", "20000")
	infer := "/v2/models/cifar10/infer"
	input := func(shape, data string) string {
		return `{"inputs":[{"name":"image","datatype":"FP32","shape":` + shape + `,"data":` + data + `}]}`
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       string
		header     []string
	}{
		{infer, "{", 400, "no JSON", nil},
		{infer, `{"inputs":[]}`, 400, "0 inputs, expected 1", nil},
		{infer, `{"inputs":[null]}`, 400, `"image" is missing`, nil},
		{infer, input("[1,3,32,31]", "[1]"), 400, "expected FP32[-1 3 32 32]", nil},
		{infer, input("[1,3,32,32]", "[1,2]"), 400, "shorter than the shape", nil},
		{infer, input("[1,3,32,32]", "[1,2"+strings.Repeat(" ", 4000)+"]"), 400, "2 elements, expected 3072", nil},
		{infer, input("[2000000000,3,32,32]", "[1]"), 400, "more than two thousand million", nil},
		{infer, input("[0,3,32,32]", "[]"), 400, "0 rows", nil},
		{infer, input("[-1,3,32,32]", "[]"), 400, "negative size", nil},
		{infer, input("[1,3,32,32]", "[[1,2],[3]"+strings.Repeat(" ", 4000)+"]"), 400, "an array of 2 arrays, expected", nil},
		{infer, input("[1,3,32,32]", `"x"`), 400, "the data is shorter", nil},
		{infer, `{"inputs":[{"name":"image","datatype":"BYTES","shape":[1],"data":["x"]}]}`, 400, "as binary data", nil},
		{infer, `{"parameters":{"priority":"x"},"inputs":[]}`, 400, "priority", nil},
		{infer, "{}", 400, "expected a number up to", []string{headerLength, "99999"}},
		{infer, "{}", 400, "packed", []string{"Content-Encoding", "gzip"}},
		{infer, "{}", 400, "content encoding", []string{"Content-Encoding", "br"}},
		{infer, strings.Repeat(" ", 20001), 413, "too large", nil},
		{"/v2/models/nothing/infer", "{}", 404, "no such model", nil},
		{"/v2/models/cifar10/versions/2/infer", "{}", 404, "no such model", nil},
		{"/v2/models/cifar10/classify", "no picture", 400, "expected a JPEG", nil},
		{"/v2/repository/models/cifar10/load", "", 403, "-model-control", nil},
		{"/v2/repository/index", "", 403, "", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
	} {
		status, text := r.do("POST", c.path, []byte(c.body), c.header...)
		require.Equal(t, c.status, status, "%.80s: %s", c.body, text)
		require.Contains(t, text, c.want, "%.80s", c.body)
	}
	bomb := &bytes.Buffer{}
	z := gzip.NewWriter(bomb)
	_, err := z.Write(make([]byte, 10<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	status, _ := r.do("POST", infer, bomb.Bytes(), "Content-Encoding", "gzip")
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Equal(t, http.StatusOK, r.get("/v2/health/ready"))
}

// Tokens are wanted for all but the probes and the page.
func TestTokens(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(path, []byte("first\nsecond\n\n"), 0o600))
	r := begin(t, "-tokens", path)
	require.Equal(t, http.StatusUnauthorized, r.get("/v2/models/cifar10"))
	require.Equal(t, http.StatusUnauthorized, r.get("/metrics"))
	require.Equal(t, http.StatusOK, r.get("/"))
	for token, want := range map[string]int{"Bearer second": 200, "Bearer third": 401, "Bearer ": 401, "second": 401} {
		status, _ := r.do("GET", "/v2/models/cifar10", nil, "Authorization", token)
		require.Equal(t, want, status, token)
	}
}

// A new version is served when it works; one that is broken changes nothing.
func versions(t *testing.T, dir string) {
	r := begin(t, "-models", dir, "-model-control")
	sum := func() (float32, string) {
		var body bytes.Buffer
		head := `{"parameters":{"binary_data_output":true},"inputs":[` +
			`{"name":"x","datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":12}},` +
			`{"name":"y","datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":12}}]}`
		body.WriteString(head)
		require.NoError(t, binary.Write(&body, binary.LittleEndian, []float32{1, 1, 1, 10, 10, 10}))
		status, text := r.do("POST", "/v2/models/sum/infer", body.Bytes(), headerLength, fmt.Sprint(len(head)))
		require.Equal(t, http.StatusOK, status, text)
		var answer inferResponse
		end := strings.LastIndex(text, "}") + 1
		require.NoError(t, json.Unmarshal([]byte(text[:end]), &answer))
		return math.Float32frombits(binary.LittleEndian.Uint32([]byte(text[end:]))), answer.ModelVersion
	}
	value, version := sum()
	require.Equal(t, float32(11), value)
	require.Equal(t, "1", version)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sum", "3"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sum", "3", "model.pt2"), []byte("PK no program"), 0o600))
	status, text := r.do("POST", "/v2/repository/models/sum/load", nil)
	require.Equal(t, http.StatusBadRequest, status, text)
	value, _ = sum()
	require.Equal(t, float32(11), value, "the good one stays")
	require.Equal(t, http.StatusOK, r.get("/v2/health/ready"))
	require.NoError(t, os.Rename(filepath.Join(dir, ".next", "model.pt2"), filepath.Join(dir, "sum", "3", "model.pt2")))
	status, text = r.do("POST", "/v2/repository/models/sum/load", nil)
	require.Equal(t, http.StatusOK, status, text)
	value, version = sum()
	require.Equal(t, float32(21), value)
	require.Equal(t, "3", version)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "sum", "config.json"), []byte(`{"max_batch":4,"sha256":"00"}`), 0o600))
	status, text = r.do("POST", "/v2/repository/models/sum/load", nil)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "SHA-256")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sum", "config.json"), []byte(`{"max_batch":4}`), 0o600))
	status, _ = r.do("POST", "/v2/repository/models/sum/load", nil)
	require.Equal(t, http.StatusOK, status)
	value, _ = sum()
	require.Equal(t, float32(21), value, "a server of other options")

	for option, want := range map[string]int{`"compile":"quick"`: http.StatusBadRequest, `"compile":"fast"`: http.StatusOK,
		`"compile":"exact"`: http.StatusOK, `"device":"cpu"`: http.StatusOK, `"device":"moon"`: http.StatusBadRequest,
		`"device":"cuda:99"`: http.StatusBadRequest} {
		config := fmt.Appendf(nil, `{"max_batch":4,%s}`, option)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sum", "config.json"), config, 0o600))
		status, text = r.do("POST", "/v2/repository/models/sum/load", nil)
		require.Equal(t, want, status, text)
		value, _ = sum()
		require.Equal(t, float32(21), value, option)
	}
}

// A server that is told to end answers what it has accepted.
func TestEnds(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t, patient...)
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	file := photo(t)
	for range 20 {
		all.Go(func() {
			for {
				status, _ := r.do("POST", "/v2/models/cifar10/classify", file)
				mu.Lock()
				got[status]++
				mu.Unlock()
				if status == 0 { // nobody listens any more
					return
				}
			}
		})
	}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return got[http.StatusOK] >= 40
	}, patience, time.Millisecond)
	require.NoError(t, r.stop())
	all.Wait()
	require.Equal(t, 20, got[0])
	require.Positive(t, got[http.StatusOK])
	require.Len(t, got, 2, "%v", got)
}

// PyPI's tritonclient, as it is, gets right answers to all that it can ask.
func tritonClient(t *testing.T, dir string) {
	if out, err := peer.Command(t, "-c", "import tritonclient.grpc, tritonclient.http").CombinedOutput(); err != nil {
		t.Skipf("the peer has no tritonclient: %s", out)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	lanes, images := torch.NewLanes(2), torch.NewLanes(1)
	defer lanes.Close()
	defer images.Close()
	log := slog.New(slog.DiscardHandler)
	s := newService(&repository{dir: dir, lanes: lanes, log: log, models: map[string]*model{}},
		limits{body: 1 << 20, memory: 1 << 30, concurrent: 100, timeout: 30 * time.Second}, images)
	s.control = true
	require.NoError(t, s.repository.loadAll(t.Context()))
	for _, d := range datatypes {
		own, err := serve.New(echo(d.dtype))
		require.NoError(t, err)
		name := "echo_" + strings.ToLower(d.name)
		s.repository.models[name] = &model{name: name, version: "1", server: own}
	}
	s.repository.models["echo"] = &model{name: "echo", version: "1", server: s.repository.models["echo_fp32"].server}
	web, err := (&flags{limits: s.limits}).web(s.handler(nil), log)
	require.NoError(t, err)
	go web.Serve(listener) //nolint:errcheck // it ends with Shutdown
	file := filepath.Join(t.TempDir(), "photo.jpg")
	require.NoError(t, os.WriteFile(file, photo(t), 0o600))
	out, err := peer.Command(t, "testdata/client.py", listener.Addr().String(), file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	require.NoError(t, web.Shutdown(t.Context()))
	require.NoError(t, s.repository.close(t.Context()))
}
