package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// host serves one model of a test's own, called "m".
func host(t *testing.T, m serve.Model, o serve.Options) *running {
	t.Helper()
	r := &running{t: t, log: &clitest.Console{}}
	log := slog.New(slog.NewTextHandler(r.log, nil))
	server, err := serve.New(m, o)
	require.NoError(t, err)
	s := newService(&repository{log: log, models: map[string]*model{"m": {name: "m", version: "1", server: server}}},
		limits{body: 1 << 20, memory: 1 << 30, concurrent: 100, timeout: time.Minute}, nil)
	web, err := (&flags{limits: s.limits}).web(s.handler(nil), log)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	go web.Serve(listener) //nolint:errcheck // it ends with Shutdown
	r.url = "http://" + listener.Addr().String()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, web.Shutdown(context.Background())) // the test's own context has ended
		require.NoError(t, s.empty(context.Background()))
		server.Close()
	})
	return r
}

// numbers is the signature of a model from whole numbers to whole numbers.
var numbers = serve.Signature{Inputs: []spec{{Name: "n", DType: torch.Int64, Shape: []int{-1}}},
	Outputs: []spec{{Name: "n", DType: torch.Int64, Shape: []int{-1}}}}

// number asks the model for one number.
func (r *running) number(n int) (status int, text string) {
	return r.do("POST", "/v2/models/m/infer", fmt.Appendf(nil, `{"inputs":[{"name":"n","datatype":"INT64","shape":[1],"data":[%d]}]}`, n))
}

// A request that runs out of memory is refused; those that shared its batch are answered, the memory comes back, and the server is ready.
func TestOutOfMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	hungry := serve.Func(numbers, func(in []torch.Tensor) []torch.Tensor {
		for _, n := range torch.Values[int](in[0]) {
			torch.Zeros(n)
		}
		return in
	})
	r := host(t, hungry, serve.Options{Lanes: 2, MaxBatch: 4, MaxDelay: 5 * time.Millisecond})
	base := torch.Stats().HostBytes
	defer torch.SetMemoryLimits(torch.CPU, torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: base + 64<<20}))
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			n, want := i, http.StatusOK
			if i%3 == 0 {
				n, want = 1<<30, http.StatusInsufficientStorage
			}
			status, text := r.number(n)
			require.Equal(t, want, status, text)
			if want == http.StatusOK {
				require.Contains(t, text, fmt.Sprintf(`"data":[%d]`, n))
			}
		})
	}
	all.Wait()
	require.Equal(t, http.StatusOK, r.get("/v2/health/ready"))
	require.Less(t, torch.Stats().HostBytes, base+1<<20)
	require.NotContains(t, r.log.String(), "panic")
}

// Two hundred hot reloads under load: no request fails, and nothing is left of the old models.
func TestReloads(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t, "-model-control")
	file := photo(t)
	var done atomic.Bool
	var answered atomic.Int64
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for !done.Load() {
				status, text := r.do("POST", "/v2/models/cifar10/classify", file)
				require.Equal(t, http.StatusOK, status, text)
				answered.Add(1)
			}
		})
	}
	var resident []int // MB
	tensors := torch.Stats().Live()
	for i := range reliability.Size(200, 30) {
		status, text := r.do("POST", "/v2/repository/models/cifar10/load", nil)
		require.Equal(t, http.StatusOK, status, text)
		if i%10 == 9 {
			runtime.GC()
			u, err := proc.Self()
			require.NoError(t, err)
			resident = append(resident, u.Resident>>20)
		}
	}
	done.Store(true)
	all.Wait()
	t.Logf("%d requests; tensors %d → %d; MB resident %v", answered.Load(), tensors, torch.Stats().Live(), resident)
	require.Positive(t, answered.Load())
	require.Less(t, torch.Stats().Live(), tensors+8, "those of one model, as before; some may still have been those of requests")
	require.Less(t, resident[len(resident)-1], resident[0]+32)
}

// A card that is lost (an assertion in a kernel, after which every call on it fails until the process ends) makes requests fail and the
// server not ready; it does not end it.
func TestLostCard(t *testing.T) {
	if !cuda.IsAvailable() {
		t.Skip("needs a card")
	}
	const child = "SERVE_TEST_LOSES_CARD"
	if os.Getenv(child) == "" { // nothing works on a card after it in this process
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, "-test.run", "^TestLostCard$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestLostCard")
		return
	}
	r := host(t, serve.Func(numbers, func(in []torch.Tensor) []torch.Tensor {
		table := torch.TensorOptions{Device: torch.CUDA(0), DType: torch.Int64}.Arange(4)
		return []torch.Tensor{table.IndexSelect(0, in[0])}
	}), serve.Options{Device: torch.CUDA(0), Lanes: 1})
	status, text := r.number(3)
	require.Equal(t, http.StatusOK, status, text)
	status, text = r.number(9) // there is no place 9
	require.Equal(t, http.StatusInternalServerError, status, text)
	require.False(t, strings.Contains(text, "assert"), "clients hear that the model failed")
	for range 3 {
		status, text = r.number(3)
		require.Equal(t, http.StatusServiceUnavailable, status, text)
		require.Contains(t, text, "a card has failed for good")
	}
	require.Equal(t, http.StatusServiceUnavailable, r.get("/v2/health/ready"))
	require.Equal(t, http.StatusServiceUnavailable, r.get("/v2/models/m/ready"))
	require.Equal(t, http.StatusOK, r.get("/v2/health/live"))
}
