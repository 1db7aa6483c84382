package profiler_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/profiler"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var onCPU = []profiler.Activity{profiler.CPU}

// profile records fn and frees the result with the test.
func profile(t *testing.T, o profiler.Options, fn func(*profiler.Profiler)) *profiler.Result {
	t.Helper()
	r, err := profiler.Profile(fn, o)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func count(r *profiler.Result, name string) int {
	for _, a := range r.KeyAverages().Rows {
		if a.Name == name {
			return a.Count
		}
	}
	return 0
}

// outer are the names of the events around one, the innermost first.
func outer(e *profiler.Event) (names []string) {
	for p := e.Parent; p != nil; p = p.Parent {
		names = append(names, p.Name)
	}
	return names
}

// Every goroutine is seen, whatever thread it comes on, and every byte.
func TestGoroutines(t *testing.T) {
	torchtest.NoLeaks(t)
	const goroutines, rounds, elements, size = 8, 25, 100, 400
	kept := make([]torch.Tensor, goroutines)
	r := profile(t, profiler.Options{Activities: onCPU, ProfileMemory: true}, func(*profiler.Profiler) {
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for range rounds {
					torch.Scope(func() {
						profiler.Record("round", func() { torch.Empty(elements).ReLU() })
					})
				}
				kept[g] = torch.Empty(elements)
			})
		}
		all.Wait()
	})
	require.Equal(t, goroutines*rounds, count(r, "round"))
	require.Equal(t, goroutines*rounds, count(r, "aten::relu"))
	require.Equal(t, goroutines*(rounds+1), count(r, "aten::empty"))
	var total, given int64
	for _, e := range r.Events() {
		switch {
		case e.Parent == nil:
			total += e.CPUMemory
		case e.Name == "aten::relu":
			require.Equal(t, []string{"round"}, outer(e))
		}
		given += max(0, e.SelfCPUMemory())
	}
	require.EqualValues(t, goroutines*size, total, "what is left")
	require.EqualValues(t, goroutines*size, r.KeyAverages().Total().SelfCPUMemory)
	require.EqualValues(t, goroutines*size*(2*rounds+1), given, "what was allocated")
	for _, x := range kept {
		x.Close()
	}
}

// A call on another goroutine may be anywhere when the profiler comes and goes: so may a range.
func TestComesAndGoes(t *testing.T) {
	torchtest.NoLeaks(t)
	var end atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			x := torch.Ones(3, 3).SetRequiresGrad(true)
			defer x.Close()
			for !end.Load() {
				profiler.Record("outer", func() {
					torch.Scope(func() { x.MatMul(x).Sum().Backward() })
					torch.NoGrad(func() { profiler.Record("inner", func() { torch.Zeros(2).Close() }) })
				})
			}
		})
	}
	for range 20 {
		seen := 0
		for seen == 0 {
			done := make(chan struct{})
			p, err := profiler.Start(profiler.Options{Activities: onCPU, ProfileMemory: true, RecordShapes: true})
			require.NoError(t, err)
			go func() { // another goroutine may end it
				defer close(done)
				torch.Zeros(5).Close()
				r, err := p.Stop()
				if err == nil {
					seen = len(r.Events())
					r.Close()
				}
			}()
			<-done
		}
	}
	end.Store(true)
	all.Wait()
}

// Modes are handed on without the profiler that ran when they were captured.
func TestModes(t *testing.T) {
	torchtest.NoLeaks(t)
	next, finished := make(chan struct{}), make(chan struct{})
	first := profile(t, profiler.Options{Activities: onCPU}, func(*profiler.Profiler) {
		torch.NoGrad(func() {
			torch.Go(func() {
				defer close(finished)
				torch.Ones(1).Close()
				next <- struct{}{}
				<-next
				torch.Zeros(1).Close()
			})
			<-next
			torch.Full([]int{1}, 2).Close()
		})
	})
	require.Equal(t, 1, count(first, "aten::ones"))
	require.Equal(t, 1, count(first, "aten::full"))
	second := profile(t, profiler.Options{Activities: onCPU}, func(*profiler.Profiler) {
		next <- struct{}{}
		<-finished
	})
	require.Equal(t, 1, count(second, "aten::zeros"))
}

func TestRecord(t *testing.T) {
	torchtest.NoLeaks(t)
	profiler.Record("before", func() { torch.Zeros(1).Close() })
	r := profile(t, profiler.Options{Activities: onCPU}, func(*profiler.Profiler) {
		profiler.Record("a", func() {
			profiler.Record("b", func() { torch.Zeros(1).Close() })
			require.Panics(t, func() { profiler.Record("c", func() { panic("out") }) })
			profiler.Record("d \"\n\\\x01\xff ü", func() { torch.Ones(1).Close() })
		})
	})
	got := map[string][]string{}
	for _, e := range r.Events() {
		got[e.Name] = outer(e)
		require.Equal(t, len(e.Name) < 5 || e.Name[0] == 'd', e.Range, e.Name)
	}
	odd := "d \"\n\\\x01\uFFFD ü"
	require.Equal(t, map[string][]string{
		"a": nil, "b": {"a"}, "c": {"a"}, odd: {"a"},
		"aten::zeros": {"b", "a"}, "aten::empty": {"aten::ones", odd, "a"}, "aten::zero_": {"aten::zeros", "b", "a"},
		"aten::ones": {odd, "a"}, "aten::fill_": {"aten::ones", odd, "a"},
	}, got)
	require.Zero(t, count(r, "before"))
	a := r.Events()[0]
	require.Equal(t, a.CPUTime()-a.Children[0].CPUTime()-a.Children[1].CPUTime()-a.Children[2].CPUTime(), a.SelfCPUTime())
}

// Cycles are handed over one by one, their steps named.
func TestSchedule(t *testing.T) {
	torchtest.NoLeaks(t)
	var cycles [][]string
	failed := errors.New("no room")
	o := profiler.Options{
		Activities: onCPU,
		Schedule:   &profiler.Schedule{SkipFirst: 1, Wait: 1, Warmup: 1, Active: 2},
		OnTraceReady: func(r *profiler.Result) error {
			defer r.Close()
			var names []string
			for _, e := range r.Events() {
				if e.Parent == nil && e.Name != "[memory]" {
					names = append(names, e.Name)
				}
			}
			cycles = append(cycles, names)
			if len(cycles) == 2 {
				return failed
			}
			return nil
		},
	}
	r := profile(t, o, func(p *profiler.Profiler) {
		for i := range 10 {
			torch.Zeros(i).Close()
			err := p.Step()
			require.Equal(t, i == 8, err != nil)
			if i == 8 {
				require.ErrorIs(t, err, failed)
			}
		}
	})
	require.Equal(t, [][]string{{"ProfilerStep#3", "ProfilerStep#4"}, {"ProfilerStep#7", "ProfilerStep#8"}}, cycles,
		"the last did not get past its warmup")
	require.Equal(t, 2, count(r, "ProfilerStep*"))
	require.Equal(t, 2, count(r, "aten::zeros"))

	p, err := profiler.Start(profiler.Options{Activities: onCPU, Schedule: &profiler.Schedule{Wait: 5, Active: 1}})
	require.NoError(t, err)
	elsewhere := make(chan error)
	go func() { elsewhere <- p.Step() }()
	require.ErrorContains(t, <-elsewhere, "has to be called by the goroutine that started")
	r, err = p.Stop()
	require.NoError(t, err)
	require.Empty(t, r.Events())
	require.Empty(t, r.Table())
	require.ErrorContains(t, r.ExportChromeTrace(t.TempDir()+"/x"), "nothing was recorded")
	r.Close()
}

func TestRefusals(t *testing.T) {
	torchtest.NoLeaks(t)
	for text, o := range map[string]profiler.Options{
		"unknown activity Activity(0)":               {Activities: []profiler.Activity{{}}},
		"at least one active step":                   {Schedule: &profiler.Schedule{Wait: 1}},
		"no negative number":                         {Schedule: &profiler.Schedule{Wait: -1, Active: 1}},
		"activity CUDA: torch: device cuda: CUDA is": {Activities: []profiler.Activity{profiler.CUDA}},
	} {
		if o.Activities != nil && o.Activities[0] == profiler.CUDA && torch.DeviceCount(torch.DeviceCUDA) > 0 {
			continue
		}
		_, err := profiler.Start(o)
		require.ErrorContains(t, err, text)
		require.Equal(t, o.Activities != nil && o.Activities[0] == profiler.CUDA, errors.Is(err, torch.ErrNoCUDA))
	}
	p, err := profiler.Start()
	require.NoError(t, err)
	_, err = profiler.Start()
	require.ErrorIs(t, err, profiler.ErrRunning)
	require.NoError(t, p.Step(), "without a schedule there are no steps")

	x := torch.Ones(2).SetRequiresGrad(true)
	var inHook error
	x.RegisterHook(func(torch.Tensor) torch.Tensor {
		_, inHook = p.Stop()
		return torch.Tensor{}
	})
	torch.Scope(func() { x.Sum().Backward() })
	require.ErrorContains(t, inHook, "inside of a hook")
	x.Close()

	r, err := p.Stop()
	require.NoError(t, err, "it went on")
	require.Equal(t, 1, count(r, "aten::sum"))
	r.Close()
	_, err = p.Stop()
	require.ErrorIs(t, err, profiler.ErrStopped)
	require.ErrorIs(t, p.Step(), profiler.ErrStopped)

	require.PanicsWithValue(t, "out", func() {
		_, _ = profiler.Profile(func(*profiler.Profiler) { panic("out") })
	})
	empty := profile(t, profiler.Options{}, func(p *profiler.Profiler) {
		r, err := p.Stop()
		require.NoError(t, err)
		require.Empty(t, r.Events())
	})
	require.Empty(t, empty.Events(), "the panic ended the one before")
	for _, o := range []profiler.TableOptions{{SortBy: "beauty"}, {TimeUnit: 3}} {
		err := torch.Try(func() { r.Table(o) })
		require.ErrorIs(t, err, torch.ErrValue)
	}
}

// Nobody listens: the price of a range.
func BenchmarkRecordOff(b *testing.B) {
	for b.Loop() {
		profiler.Record("range", func() {})
	}
}

func BenchmarkRecordOn(b *testing.B) {
	p, err := profiler.Start(profiler.Options{Activities: onCPU})
	require.NoError(b, err)
	for b.Loop() {
		profiler.Record("range", func() {})
	}
	r, err := p.Stop()
	require.NoError(b, err)
	r.Close()
}

func benchmarkOp(b *testing.B) {
	x := torch.Zeros(1)
	defer x.Close()
	for b.Loop() {
		x.NegInPlace()
	}
}

func BenchmarkOpOff(b *testing.B) { benchmarkOp(b) }

func BenchmarkOpOn(b *testing.B) {
	p, err := profiler.Start(profiler.Options{Activities: onCPU})
	require.NoError(b, err)
	benchmarkOp(b)
	r, err := p.Stop()
	require.NoError(b, err)
	r.Close()
}
