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
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
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

// newCrowd computes the answers to a few questions, alone, with the network that is served.
func newCrowd(t *testing.T, net nn.Layer) *crowd {
	t.Helper()
	c := &crowd{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}
	for range 16 {
		torch.Scope(func() {
			x := torch.RandN(1, 64)
			question, err := json.Marshal(map[string]any{"inputs": []any{map[string]any{
				"name": "x", "datatype": "FP32", "shape": []int{1, 64}, "data": torch.Values[float32](x)}}})
			require.NoError(t, err)
			padded := torch.Cat([]torch.Tensor{x, torch.Zeros(7, 64)}) // what the only bucket makes of it
			var answer []byte
			torch.Inference(func() { answer, err = toJSON(nil, net.Forward(padded).Narrow(0, 0, 1).Contiguous()) })
			require.NoError(t, err)
			c.questions, c.answers = append(c.questions, question), append(c.answers, answer)
		})
	}
	return c
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

// A thousand clients at once get answers that are right to the bit, or are refused; the process stays as small as it was.
func TestCrowd(t *testing.T) {
	torchtest.NoLeaks(t)
	layer := nn.Eval(nn.Sequential{nn.NewLinear(64, 128), nn.ReLU{}, nn.NewLinear(128, 10)})
	c := newCrowd(t, layer)
	in := serve.Spec{Name: "x", DType: torch.Float32, Shape: []int{-1, 64}}
	out := serve.Spec{Name: "y", DType: torch.Float32, Shape: []int{-1, 10}}
	lanes, images := torch.NewLanes(2, torch.LanesOptions{Threads: 1}), torch.NewLanes(1)
	defer lanes.Close()
	defer images.Close()
	o := serve.Options{Share: lanes, MaxBatch: 8, Buckets: []int{8}, MaxDelay: time.Millisecond, Queue: 600}
	own := &crowded{Model: serve.Module(layer, in, out), crowd: c}
	c.active.Store(1000)
	server, err := serve.New(own, o)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	s := &service{repository: &repository{lanes: lanes, log: log, models: map[string]*model{"m": {name: "m", version: "1", server: server}}},
		log: log, images: images, places: make(chan struct{}, 1024),
		limits: limits{body: 1 << 20, memory: 1 << 30, concurrent: 1024, timeout: patience}}
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	web, err := (&flags{limits: s.limits}).web(s.handler(nil), log)
	require.NoError(t, err)
	web.ReadHeaderTimeout = patience // the clients are slow where the machine is
	go web.Serve(listener)           //nolint:errcheck // it ends with Shutdown
	c.url = "http://" + listener.Addr().String() + "/v2/models/m/infer"

	before, err := proc.Self()
	require.NoError(t, err)
	until := time.Now().Add(time.Duration(reliability.Size(60, 3)) * time.Second)
	own.server.Store(server)
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(2, uint64(i)))
			defer c.active.Add(-1)
			for k := 0; k < 3 || time.Now().Before(until); k++ {
				c.ask(t, chance)
			}
		})
	}
	all.Wait()
	after, err := proc.Self()
	require.NoError(t, err)
	st := server.Stats()
	t.Logf("%d right, %d refused, %d given up; %d rows in %d batches; threads %d → %d, MB %d → %d", c.right.Load(), c.refused.Load(),
		c.cancelled.Load(), st.Rows, st.Batches, before.Threads, after.Threads, before.Resident>>20, after.Resident>>20)
	require.Greater(t, c.right.Load(), int64(100))
	require.GreaterOrEqual(t, float64(st.Rows), 0.8*8*float64(st.Batches), "under load batches are full")
	require.LessOrEqual(t, after.Threads, before.Threads+2*runtime.GOMAXPROCS(0)+32)
	require.NoError(t, s.ready())
	c.client.CloseIdleConnections()
	require.NoError(t, web.Shutdown(t.Context()))
	require.NoError(t, s.repository.close(t.Context()))
}
