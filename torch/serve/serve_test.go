package serve_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	jit.InspectChild()
	torchtest.Main(m)
}

func spec(name string, shape ...int) serve.Spec {
	return serve.Spec{Name: name, DType: torch.Float32, Shape: shape}
}

// vectors is the signature of a model from rows of n numbers to rows of n numbers.
func vectors(n int) serve.Signature {
	return serve.Signature{Inputs: []serve.Spec{spec("x", -1, n)}, Outputs: []serve.Spec{spec("y", -1, n)}}
}

// a probe is a model that can be held up, and that knows what became of it.
type probe struct {
	serve.Model
	gate    chan struct{} // each run takes one; nil to run freely
	started chan float32  // gets the first number of each run; nil if nobody asks
	runs    atomic.Int64
	closed  atomic.Int64
}

func (p *probe) Run(ctx context.Context, in []torch.Tensor) ([]torch.Tensor, error) {
	p.runs.Add(1)
	if p.started != nil {
		p.started <- torch.Values[float32](in[0].Reshape(-1))[0]
	}
	if p.gate != nil {
		<-p.gate
	}
	return p.Model.Run(ctx, in)
}

func (p *probe) Close() {
	p.closed.Add(1)
	p.Model.Close()
}

// adding is a model that adds a number; a row with a negative number in front is an error, one with -2 a panic, with -3 the end
// of the goroutine.
func adding(x float64) *probe {
	return &probe{Model: serve.Func(vectors(3), func(in []torch.Tensor) []torch.Tensor {
		for _, v := range torch.Values[float32](in[0].Select(1, 0)) {
			switch v {
			case -1:
				torch.Throw("probe", torch.KindValue, "a bad row")
			case -2:
				panic("a bug")
			case -3:
				runtime.Goexit()
			}
		}
		return []torch.Tensor{in[0].AddScalar(x)}
	})}
}

func start(t *testing.T, m serve.Model, o serve.Options) *serve.Server {
	t.Helper()
	s, err := serve.New(m, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// ask computes rows of one number, three times each, and returns the first number of each row.
func ask(ctx context.Context, s *serve.Server, q serve.Request, numbers ...float32) (got []float32, err error) {
	torch.Scope(func() {
		x := torch.FromSlice(numbers, len(numbers), 1).Expand(-1, 3)
		q.Inputs = []torch.Tensor{x}
		var out []torch.Tensor
		if out, err = s.Do(ctx, q); err == nil {
			got = torch.Values[float32](out[0].Select(1, 0))
		}
	})
	return got, err
}

// eventually waits for something that another goroutine does.
func eventually(t *testing.T, fn func() bool) {
	t.Helper()
	require.Eventually(t, fn, 5*time.Minute, time.Millisecond)
}

// gathered is a server of one lane or more with a model that was warmed up and is held, so that requests gather until the gate is closed.
func gathered(t *testing.T, m *probe, o serve.Options) *serve.Server {
	t.Helper()
	s := start(t, m, o)
	m.gate = make(chan struct{})
	return s
}

// open lets the model run once that many requests have come.
func (p *probe) open(t *testing.T, s *serve.Server, requests int) {
	t.Helper()
	eventually(t, func() bool { st := s.Stats(); return st.Waiting+st.Running == requests })
	close(p.gate)
}

// Many callers get their own rows, computed in fewer runs than there are requests.
func TestBatches(t *testing.T) {
	torchtest.NoLeaks(t)
	m := adding(1)
	s := gathered(t, m, serve.Options{Lanes: 2, MaxBatch: 8, MaxDelay: 20 * time.Millisecond, Queue: 1000})
	warm := m.runs.Load()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			want := []float32{float32(i), float32(i) + 0.5}[:1+i%2]
			got, err := ask(t.Context(), s, serve.Request{}, want...)
			require.NoError(t, err)
			for k := range want {
				require.Equal(t, want[k]+1, got[k])
			}
		})
	}
	m.open(t, s, 100)
	all.Wait()
	st := s.Stats()
	require.EqualValues(t, 100, st.Answered)
	require.EqualValues(t, 150, st.Rows)
	require.Equal(t, m.runs.Load()-warm, st.Batches)
	require.LessOrEqual(t, st.Batches, int64(2+(150+6)/7), "besides the first of each lane they have 7 rows or 8")
	for rows, n := range st.Sizes {
		require.True(t, rows <= 8 && n >= 0)
	}
}

// A batch of a preferred size waits for no more, however long the delay is, and a request knows when it was computed.
func TestPreferred(t *testing.T) {
	torchtest.NoLeaks(t)
	s := start(t, adding(1), serve.Options{Lanes: 1, MaxBatch: 16, MaxDelay: time.Hour, Preferred: []int{4, 2}})
	got, err := ask(t.Context(), s, serve.Request{}, 1, 2, 3, 4)
	require.NoError(t, err)
	require.Equal(t, []float32{2, 3, 4, 5}, got)
	var all sync.WaitGroup
	times := make([]serve.Times, 2)
	for i := range times {
		all.Go(func() {
			got, err := ask(t.Context(), s, serve.Request{Times: &times[i]}, 7)
			require.NoError(t, err)
			require.Equal(t, []float32{8}, got)
		})
	}
	all.Wait()
	require.EqualValues(t, 1, s.Stats().Sizes[4])
	require.EqualValues(t, 1, s.Stats().Sizes[2])
	for _, x := range times {
		require.Equal(t, 2, x.Rows)
		require.False(t, x.Begun.Before(x.Arrived) || x.Gathered.Before(x.Begun))
		require.False(t, x.Computed.Before(x.Gathered) || x.Answered.Before(x.Computed))
	}
}

// With one bucket a request has the same bits alone and in company, also where kernels round differently for other sizes.
func TestOneBucketSameBits(t *testing.T) {
	torchtest.NoLeaks(t)
	net := nn.Sequential{nn.NewConv2d(3, 16, 3), nn.ReLU{}, nn.NewConv2d(16, 8, 3), nn.Flatten{}, nn.NewLinear(8*8*8, 10)}
	m := &probe{Model: serve.Module(net, spec("image", -1, 3, 12, 12), spec("scores", -1, 10))}
	s := start(t, m, serve.Options{Lanes: 1, MaxBatch: 4, Buckets: []int{4}, MaxDelay: time.Millisecond})
	images := torch.RandN(12, 3, 12, 12)
	defer images.Close()
	run := func(i int) []float32 {
		var scores []float32
		torch.Scope(func() {
			out, err := s.Run(t.Context(), images.Narrow(0, i, 1))
			require.NoError(t, err)
			scores = torch.Values[float32](out[0])
		})
		return scores
	}
	alone := make([][]float32, 12)
	for i := range alone {
		alone[i] = run(i)
	}
	require.EqualValues(t, 12*3, s.Stats().Padding)
	m.gate = make(chan struct{})
	var all sync.WaitGroup
	for i := range alone {
		all.Go(func() { require.Equal(t, alone[i], run(i)) })
	}
	m.open(t, s, 12)
	all.Wait()
	require.LessOrEqual(t, s.Stats().Batches, int64(12+1+3), "all but the first were in company")
}

// Requests of other shapes do not share a batch, and need not.
func TestShapesKeepApart(t *testing.T) {
	torchtest.NoLeaks(t)
	sig := serve.Signature{Inputs: []serve.Spec{spec("x", -1, -1)}, Outputs: []serve.Spec{spec("sum", -1)}}
	sample := torch.Ones(1, 2)
	defer sample.Close()
	s := start(t, serve.Func(sig, func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Sum(1)} }),
		serve.Options{MaxBatch: 8, MaxDelay: 5 * time.Millisecond, Sample: []torch.Tensor{sample}})
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			torch.Scope(func() {
				out, err := s.Run(t.Context(), torch.Ones(2, 1+i%3))
				require.NoError(t, err)
				require.Equal(t, []float32{float32(1 + i%3), float32(1 + i%3)}, torch.Values[float32](out[0]))
			})
		})
	}
	all.Wait()
}

// A full queue refuses at once; a request that is given up is not computed; priorities go first.
func TestQueue(t *testing.T) {
	torchtest.NoLeaks(t)
	m := adding(0)
	m.gate, m.started = make(chan struct{}), make(chan float32, 100)
	s := start(t, m, serve.Options{Lanes: 1, Queue: 3, WarmUp: []int{}})
	var all sync.WaitGroup
	send := func(ctx context.Context, number float32, priority int) {
		waiting := s.Stats().Waiting
		all.Go(func() {
			if _, err := ask(ctx, s, serve.Request{Priority: priority}, number); number == 2 {
				require.ErrorIs(t, err, errGone)
			} else {
				require.NoError(t, err)
			}
		})
		eventually(t, func() bool { return s.Stats().Waiting != waiting || s.Stats().Running == 1 && number == 0 })
	}
	send(t.Context(), 0, 0) // is being computed
	<-m.started
	ctx, cancel := context.WithCancelCause(t.Context())
	send(t.Context(), 1, 0)
	send(ctx, 2, 0)
	send(t.Context(), 3, 5)
	_, err := ask(t.Context(), s, serve.Request{}, 4)
	require.ErrorIs(t, err, serve.ErrBusy)
	cancel(errGone)
	eventually(t, func() bool { return s.Stats().Waiting == 2 })
	close(m.gate)
	require.Equal(t, float32(3), <-m.started)
	require.Equal(t, float32(1), <-m.started)
	all.Wait()
	require.EqualValues(t, 3, m.runs.Load(), "what was given up was not computed")
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	_, err = ask(late, s, serve.Request{}, 4)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualValues(t, 1, s.Stats().Refused)
	require.EqualValues(t, 2, s.Stats().Cancelled)
}

var errGone = errors.New("the caller has gone")

// Whoever waits for a request that is being computed may go; the server goes on.
func TestGivenUpWhileComputed(t *testing.T) {
	torchtest.NoLeaks(t)
	m := adding(0)
	m.gate, m.started = make(chan struct{}), make(chan float32, 1)
	s := start(t, m, serve.Options{Lanes: 1, WarmUp: []int{}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-m.started; cancel() }()
	_, err := ask(ctx, s, serve.Request{}, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, s.Stats().Running)
	m.gate <- struct{}{}
	eventually(t, func() bool { return s.Stats().Running == 0 })
}

// In a batch that fails, only those fail whose rows are bad.
func TestBadRows(t *testing.T) {
	torchtest.NoLeaks(t)
	m := adding(1)
	s := gathered(t, m, serve.Options{Lanes: 1, MaxBatch: 16, MaxDelay: time.Hour})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			number := float32(i) - 3
			if i == 0 {
				number = 99
			}
			defer func() {
				p, panicked := recover().(*torch.LanePanic)
				require.Equal(t, number == -2, panicked)
				if panicked {
					require.Equal(t, "a bug", p.Value)
				}
			}()
			got, err := ask(t.Context(), s, serve.Request{}, number)
			if number == -1 {
				require.ErrorIs(t, err, torch.ErrValue)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []float32{number + 1}, got)
		})
	}
	m.open(t, s, 16)
	all.Wait()
	require.EqualValues(t, 14, s.Stats().Answered)
	require.EqualValues(t, 2, s.Stats().Failed)
	require.EqualValues(t, 2+1+16, m.runs.Load(), "to warm up, together, each alone")

	s = start(t, adding(1), serve.Options{Lanes: 1})
	_, err := ask(t.Context(), s, serve.Request{}, -3)
	require.ErrorContains(t, err, "ended the goroutine")
	got, err := ask(t.Context(), s, serve.Request{}, 5)
	require.NoError(t, err)
	require.Equal(t, []float32{6}, got)
}

func TestInputs(t *testing.T) {
	torchtest.NoLeaks(t)
	s := start(t, adding(1), serve.Options{MaxBatch: 4})
	torch.Scope(func() {
		closed := torch.Ones(1, 3)
		closed.Close()
		for want, inputs := range map[string][]torch.Tensor{
			"0 inputs, expected 1":                           {},
			`"x" is float64[1 3], expected x float32[-1, 3]`: {torch.Ones(1, 3).To(torch.Float64)},
			`"x" is float32[1 4], expected x float32[-1, 3]`: {torch.Ones(1, 4)},
			`"x" is float32[3], expected x float32[-1, 3]`:   {torch.Ones(3)},
			`"x" is undefined`:                               {{}},
			`0 rows, expected`:                               {torch.Ones(0, 3)},
			`5 rows, expected`:                               {torch.Ones(5, 3)},
			"closed":                                         {closed},
		} {
			_, err := s.Run(t.Context(), inputs...)
			require.ErrorIs(t, err, serve.ErrInput, want)
			require.ErrorContains(t, err, want)
		}
	})
	require.EqualValues(t, 8, s.Stats().Invalid)
	require.NoError(t, s.Ready())
}

// A new version takes over without a request that fails; old ones are closed when nobody uses them.
func TestSwapUnderLoad(t *testing.T) {
	torchtest.NoLeaks(t)
	first := adding(0)
	s := start(t, first, serve.Options{Lanes: 2, MaxBatch: 4})
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var newest, asked atomic.Int64
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				oldest := newest.Load()
				got, err := ask(t.Context(), s, serve.Request{}, 0)
				require.NoError(t, err)
				require.True(t, int64(got[0]) >= oldest && int64(got[0]) <= newest.Load()+1, "%v, version %d", got, newest.Load())
				asked.Add(1)
			}
		})
	}
	versions := []*probe{first}
	for i := range 200 {
		m := adding(float64(i + 1))
		require.NoError(t, s.Swap(m))
		newest.Store(int64(i + 1))
		versions = append(versions, m)
		seen := asked.Load()
		eventually(t, func() bool { return asked.Load() > seen })
		liar := &probe{Model: serve.Func(vectors(3), func(in []torch.Tensor) []torch.Tensor { return nil })}
		require.ErrorContains(t, s.Swap(liar), "the model returned 0 tensors")
		require.EqualValues(t, 1, liar.closed.Load())
	}
	cancel()
	callers.Wait()
	for _, m := range versions[:200] {
		eventually(t, func() bool { return m.closed.Load() == 1 })
	}
	require.Zero(t, versions[200].closed.Load())
	s.Close()
	s.Close()
	require.EqualValues(t, 1, versions[200].closed.Load())
	require.EqualValues(t, 200, s.Stats().Swaps)
	require.Zero(t, s.Stats().Failed)
	late := adding(1)
	require.ErrorIs(t, s.Swap(late), serve.ErrClosed)
	require.EqualValues(t, 1, late.closed.Load())
}

// Shutdown answers what was accepted, and refuses the rest; what does not end in time is refused, too.
func TestShutdown(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, patient := range []bool{true, false} {
		m := adding(1)
		m.gate, m.started = make(chan struct{}), make(chan float32, 10)
		s := start(t, m, serve.Options{Lanes: 1, MaxBatch: 2, MaxDelay: time.Hour, WarmUp: []int{}})
		var all sync.WaitGroup
		var refused atomic.Int64
		for i := range 5 {
			all.Go(func() {
				got, err := ask(t.Context(), s, serve.Request{}, float32(i))
				if !errors.Is(err, serve.ErrClosed) {
					require.NoError(t, err)
					require.Equal(t, []float32{float32(i) + 1}, got)
					return
				}
				refused.Add(1)
			})
		}
		eventually(t, func() bool { return s.Stats().Waiting == 3 && s.Stats().Running == 2 })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Shutdown(ctx) }()
		eventually(t, func() bool { return s.Ready() != nil })
		_, err := ask(t.Context(), s, serve.Request{}, 9)
		require.ErrorIs(t, err, serve.ErrClosed)
		if !patient {
			cancel()
			eventually(t, func() bool { return s.Stats().Waiting == 0 })
		}
		close(m.gate)
		if patient {
			require.NoError(t, <-ended)
		} else {
			require.ErrorIs(t, <-ended, context.Canceled)
		}
		cancel()
		all.Wait()
		require.EqualValues(t, map[bool]int64{true: 0, false: 3}[patient], refused.Load())
		require.EqualValues(t, 1, m.closed.Load())
	}
}

// Models and options that do not fit are refused, and the model closed.
func TestRefused(t *testing.T) {
	torchtest.NoLeaks(t)
	broken := serve.Func(vectors(3), func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].MatMul(in[0])} })
	fixed := serve.Signature{Inputs: []serve.Spec{spec("x", 2, 3)}, Outputs: []serve.Spec{spec("y", 2, 3)}}
	same := func(in []torch.Tensor) []torch.Tensor { return in }
	total := func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Sum()} }
	for want, c := range map[string]struct {
		m serve.Model
		o serve.Options
	}{
		"warming up with 1 rows: torch: matmul":       {broken, serve.Options{}},
		"no negative options":                         {adding(1), serve.Options{Lanes: -1}},
		"expected buckets from 1 to MaxBatch":         {adding(1), serve.Options{MaxBatch: 4, Buckets: []int{2}}},
		"expected preferred batches of 1 to MaxBatch": {adding(1), serve.Options{MaxBatch: 4, Preferred: []int{8}}},
		"expected -1 as the first size":               {serve.Func(fixed, same), serve.Options{MaxBatch: 2}},
		"has no outputs":                              {serve.Func(serve.Signature{}, same), serve.Options{}},
		"two inputs or outputs have the name":         {serve.Func(serve.Signature{Outputs: []serve.Spec{{}}}, same), serve.Options{}},
		"another tensor than its signature says: \"y": {serve.Func(vectors(3), total), serve.Options{}},
	} {
		m := &probe{Model: c.m}
		_, err := serve.New(m, c.o)
		require.ErrorContains(t, err, want)
		require.EqualValues(t, 1, m.closed.Load(), want)
	}
}
