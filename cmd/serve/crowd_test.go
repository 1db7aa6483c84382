package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A crowd asks one server: what each asks, and what the answer has to be.
type crowd struct {
	url                       string
	client                    *http.Client
	questions, answers        [][]byte
	right, refused, cancelled atomic.Int64
	active                    atomic.Int64 // clients that may ask again
}

const thousand = 1000

func crowdLasts() time.Duration { return time.Duration(reliability.Size(60, 3)) * time.Second }

// newCrowd computes the answers to a few questions, alone, with the network that is served.
func newCrowd(t *testing.T, net nn.Layer, width int) *crowd {
	t.Helper()
	c := &crowd{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: thousand}}}
	for range 16 {
		torch.Scope(func() {
			x := torch.RandN(1, width)
			question, err := json.Marshal(map[string]any{"inputs": []any{map[string]any{
				"name": "x", "datatype": "FP32", "shape": []int{1, width}, "data": torch.Values[float32](x)}}})
			require.NoError(t, err)
			padded := torch.Cat([]torch.Tensor{x, torch.Zeros(7, width)}) // what the only bucket makes of it
			var answer []byte
			torch.Inference(func() { answer, err = toJSON(nil, net.Forward(padded).Narrow(0, 0, 1).Contiguous()) })
			require.NoError(t, err)
			c.questions, c.answers = append(c.questions, question), append(c.answers, answer)
		})
	}
	return c
}

// come has a thousand clients ask at the same time, each at least three times.
func (c *crowd) come(t *testing.T, long time.Duration) {
	until := time.Now().Add(long)
	var all sync.WaitGroup
	for i := range thousand {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(2, uint64(i)))
			defer c.active.Add(-1)
			for k := 0; k < 3 || time.Now().Before(until); k++ {
				c.ask(t, chance)
			}
		})
	}
	all.Wait()
	c.client.CloseIdleConnections()
}

// ask is one request; a tenth is given up, a tenth is garbage.
func (c *crowd) ask(t *testing.T, chance *rand.Rand) {
	i := chance.IntN(len(c.questions))
	body, ctx := c.questions[i], t.Context()
	kind := chance.IntN(10)
	switch kind {
	case 0:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(chance.IntN(20))*time.Millisecond)
		defer cancel()
	case 1:
		body = bend(chance, body)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	require.NoError(t, err)
	resp, err := c.client.Do(req)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	switch {
	case err != nil:
		require.Zero(t, kind, "%v", err)
		c.cancelled.Add(1)
	case resp.StatusCode != http.StatusOK:
		allowed := []int{http.StatusTooManyRequests}
		if kind == 1 {
			allowed = append(allowed, http.StatusBadRequest)
		}
		require.Contains(t, allowed, resp.StatusCode, "%s", text)
		c.refused.Add(1)
	case kind != 1:
		require.True(t, bytes.Contains(text, c.answers[i]), "%s, expected %s", text, c.answers[i])
		c.right.Add(1)
	}
}

// crowded is a model that takes as long as two more batches take to come, while there is a crowd: so lanes are what is short, however slow
// the clients are.
type crowded struct {
	serve.Model
	crowd  *crowd
	server atomic.Pointer[serve.Server] // nil while it is warmed up
}

func (m *crowded) Run(ctx context.Context, inputs []torch.Tensor) ([]torch.Tensor, error) {
	for s := m.server.Load(); s != nil && s.Stats().Waiting < 16 && m.crowd.active.Load() > 40; {
		time.Sleep(100 * time.Microsecond)
	}
	return m.Model.Run(ctx, inputs)
}

// A thousand clients at once get answers that are right to the bit, or are refused, in few threads and full batches.
func TestCrowd(t *testing.T) {
	torchtest.NoLeaks(t)
	layer := nn.Eval(nn.Sequential{nn.NewLinear(64, 128), nn.ReLU{}, nn.NewLinear(128, 10)})
	c := newCrowd(t, layer, 64)
	in := serve.Spec{Name: "x", DType: torch.Float32, Shape: []int{-1, 64}}
	out := serve.Spec{Name: "y", DType: torch.Float32, Shape: []int{-1, 10}}
	lanes, images := torch.NewLanes(2, torch.LanesOptions{Threads: 1}), torch.NewLanes(1)
	defer lanes.Close()
	defer images.Close()
	o := serve.Options{Share: lanes, MaxBatch: 8, Buckets: []int{8}, MaxDelay: time.Millisecond, Queue: 600}
	own := &crowded{Model: serve.Module(layer, in, out), crowd: c}
	c.active.Store(thousand)
	server, err := serve.New(own, o)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	s := newService(&repository{lanes: lanes, log: log, models: map[string]*model{"m": {name: "m", version: "1", server: server}}},
		limits{body: 1 << 20, memory: 1 << 30, concurrent: 1024, timeout: patience}, images)
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	web, err := (&flags{limits: s.limits}).web(s.handler(nil), log)
	require.NoError(t, err)
	web.ReadHeaderTimeout = patience // the clients are slow where the machine is
	go web.Serve(listener)           //nolint:errcheck // it ends with Shutdown
	c.url = "http://" + listener.Addr().String() + "/v2/models/m/infer"

	before, err := proc.Self()
	require.NoError(t, err)
	own.server.Store(server)
	c.come(t, crowdLasts())
	after, err := proc.Self()
	require.NoError(t, err)
	st := server.Stats()
	t.Logf("%d right, %d refused, %d given up; %d rows in %d batches; threads %d → %d, MB %d → %d", c.right.Load(), c.refused.Load(),
		c.cancelled.Load(), st.Rows, st.Batches, before.Threads, after.Threads, before.Resident>>20, after.Resident>>20)
	require.Greater(t, c.right.Load(), int64(100))
	require.GreaterOrEqual(t, float64(st.Rows), 0.8*8*float64(st.Batches), "under load batches are full")
	require.LessOrEqual(t, after.Threads, before.Threads+2*runtime.GOMAXPROCS(0)+32)
	require.NoError(t, s.ready())
	require.NoError(t, web.Shutdown(t.Context()))
	require.NoError(t, s.repository.close(t.Context()))
}

// What a thousand clients take is little, and is given back when they have gone.
func TestCrowdOfProcess(t *testing.T) {
	torchtest.NoLeaks(t)
	const width = 3072
	layer, dir := nn.Eval(nn.NewLinear(width, 10)), t.TempDir()
	torch.Scope(func() {
		p, err := export.Export(layer, []any{torch.Zeros(8, width)}, export.ExportOptions{ArgNames: []string{"x"},
			DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "rows"}}}})
		require.NoError(t, err)
		require.NoError(t, os.Mkdir(filepath.Join(dir, "m"), 0o755))
		defer p.Close()
		require.NoError(t, p.Save(filepath.Join(dir, "m", "model.pt2")))
		config := `{"compile": "exact", "max_batch": 8, "buckets": [8], "max_delay": "1ms", "queue": 600}`
		require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.json"), []byte(config), 0o600))
	})
	r := launch(t, append(patient, "-log", "info", "-models", dir)...)
	c := newCrowd(t, layer, width)
	c.url = r.url + "/v2/models/m/infer"
	chance := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		c.ask(t, chance)
	}
	require.NoError(t, proc.ResetPeak(r.pid))
	before, err := proc.Of(r.pid)
	require.NoError(t, err)
	c.come(t, crowdLasts())
	most, err := proc.Of(r.pid)
	require.NoError(t, err)
	require.Greater(t, c.right.Load(), int64(100))
	require.LessOrEqual(t, most.Peak, before.Resident+96<<20)
	require.LessOrEqual(t, most.Threads, 2*runtime.GOMAXPROCS(0)+32, "goroutines that have a thread of their own waited for each other")
	require.Eventually(t, func() bool {
		after, err := proc.Of(r.pid)
		require.NoError(t, err)
		return after.Resident <= before.Resident+8<<20
	}, patience, 100*time.Millisecond, "MB %d → %d", before.Resident>>20, most.Resident>>20)
	t.Logf("%d right, %d refused, %d given up; threads %d → %d, MB %d → %d at most", c.right.Load(), c.refused.Load(), c.cancelled.Load(),
		before.Threads, most.Threads, before.Resident>>20, most.Peak>>20)
}
