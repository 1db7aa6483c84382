package torch_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// eachWay runs check with lanes that compute on threads of their own, and with lanes of which quick calls have come, which compute
// where they are called.
func eachWay(t *testing.T, check func(t *testing.T, lanes *torch.Lanes)) {
	for name, before := range map[string]int{"on a lane's thread": 0, "on the caller's": 64} {
		t.Run(name, func(t *testing.T) {
			torchtest.NoLeaks(t)
			lanes := torch.NewLanes(1, torch.LanesOptions{Threads: 1})
			defer lanes.Close()
			for range before {
				require.NoError(t, lanes.Do(t.Context(), func() {}))
			}
			check(t, lanes)
		})
	}
}

// What computes long leaves memory with its thread, so that not every thread may do it.
func TestLanesQuickCallsStayOnTheirThread(t *testing.T) {
	if torch.DeviceCount(torch.DeviceCUDA) > 0 {
		t.Skip("a card's handles stay with a thread")
	}
	eachWay(t, func(t *testing.T, lanes *torch.Lanes) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		mine := syscall.Gettid()
		here := func(takes time.Duration) (same bool) {
			require.NoError(t, lanes.Do(t.Context(), func() {
				same = syscall.Gettid() == mine
				time.Sleep(takes)
			}))
			return same
		}
		require.Equal(t, strings.HasSuffix(t.Name(), "caller's"), here(0))
		here(50 * time.Millisecond)
		require.False(t, here(0), "a long call was among the last")
		for quick := 0; !here(0); quick++ {
			require.Less(t, quick, 10_000, "they never come back")
		}
	})
}

func TestLanesRunUnderTheCallersModes(t *testing.T) { eachWay(t, lanesRunUnderTheCallersModes) }

func lanesRunUnderTheCallersModes(t *testing.T, lanes *torch.Lanes) {
	enabled := func() (on bool) {
		require.NoError(t, lanes.Do(t.Context(), func() { on = torch.IsGradEnabled() }))
		return on
	}
	require.True(t, enabled())
	torch.NoGrad(func() { require.False(t, enabled()) })
	require.True(t, enabled(), "the mode stayed in the lane")
}

func TestLanesHandOverResults(t *testing.T) { eachWay(t, lanesHandOverResults) }

func lanesHandOverResults(t *testing.T, lanes *torch.Lanes) {
	torch.Scope(func() {
		y, err := lanes.Do1(t.Context(), func() torch.Tensor { return torch.Ones(2).Add(torch.Ones(2)) })
		require.NoError(t, err)
		require.Equal(t, []float32{2, 2}, torch.Values[float32](y))
	})
	require.Zero(t, torch.Stats().Live(), "the result belongs to the caller's scope")
}

func TestLanesErrors(t *testing.T) { eachWay(t, lanesErrors) }

func lanesErrors(t *testing.T, lanes *torch.Lanes) {
	_, err := lanes.Do1(t.Context(), func() torch.Tensor { return torch.Ones(2, 3).MM(torch.Ones(2, 3)) })
	var e *torch.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "mm", e.Op)

	wrong := errors.New("a wrong thing")
	func() {
		defer func() {
			var p *torch.LanePanic
			require.ErrorAs(t, recover().(error), &p)
			require.ErrorIs(t, p, wrong)
			require.Contains(t, p.Error(), "lanes_test.go")
		}()
		_ = lanes.Do(t.Context(), func() { panic(wrong) })
	}()

	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = lanes.Do(t.Context(), runtime.Goexit)
		ended <- true
	}()
	require.False(t, <-ended, "the goroutine goes on that asked for an exit")
	require.NoError(t, lanes.Do(t.Context(), func() {}), "the lane was lost")

	lanes.Close()
	lanes.Close()
	require.ErrorIs(t, lanes.Do(t.Context(), func() {}), torch.ErrLanesClosed)
	require.ErrorIs(t, torch.Try(func() { torch.NewLanes(0) }), torch.ErrValue)
}

func TestLanesWaitAndGiveUp(t *testing.T) {
	torchtest.NoLeaks(t)
	lanes := torch.NewLanes(1, torch.LanesOptions{Queue: 1})
	defer lanes.Close()
	begun, hold := make(chan bool), make(chan bool)
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, lanes.Do(t.Context(), func() { close(begun); <-hold })) })
	<-begun
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	all.Go(func() { assert.ErrorIs(t, lanes.Do(ctx, func() { t.Error("it was run") }), enough) })
	for lanes.Stats().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	require.ErrorIs(t, lanes.Do(t.Context(), func() {}), torch.ErrLanesBusy)
	cancel(enough)
	for lanes.Stats().Waiting > 0 {
		time.Sleep(time.Millisecond)
	}
	require.ErrorIs(t, lanes.Do(ctx, func() {}), enough, "already given up")
	close(hold)
	all.Wait()
	s := lanes.Stats()
	require.Equal(t, torch.LanesStats{Lanes: 1, Threads: s.Threads, Finished: 1, Refused: 3}, s)
}

func TestLanesHaveTheirOwnThreads(t *testing.T) {
	torchtest.NoLeaks(t)
	before := torch.NumThreads()
	lanes := torch.NewLanes(2, torch.LanesOptions{Threads: 3})
	for range 8 {
		require.NoError(t, lanes.Do(t.Context(), func() { assert.Equal(t, 3, torch.NumThreads()) }))
	}
	lanes.Beside(func() { require.Equal(t, 3, torch.NumThreads()) })
	fresh := make(chan int)
	for range 8 {
		go func() {
			runtime.LockOSThread() // and ends with the goroutine: always another thread
			fresh <- torch.NumThreads()
		}()
		require.Equal(t, before, <-fresh, "threads outside of the lanes are not affected")
	}
	require.Equal(t, before, torch.NumThreads())
	lanes.Close()
}

// A lane's thread keeps its number where the first kernel that it runs is one of ours, after others have had theirs set.
func TestLanesKeepTheirThreadsInOwnKernels(t *testing.T) {
	torchtest.NoLeaks(t)
	const own = 3
	lanes := torch.NewLanes(2, torch.LanesOptions{Threads: own})
	defer lanes.Close()
	for range 8 {
		lanes.Beside(func() {}) // the caller's number is the last one that was set
		require.NoError(t, lanes.Do(t.Context(), func() {
			torch.Scope(func() {
				for _, vector := range vectors() {
					_, err := product(vector, nil, torch.Ones(96, 64), torch.Ones(64, 96), 64, "added", false)
					assert.NoError(t, err)
				}
				assert.Equal(t, own, torch.NumThreads())
			})
		}))
	}
}

// TestManyGoroutinesShareLanes is a busy service: a thousand goroutines use one model,
// and some of them give up.
func TestManyGoroutinesShareLanes(t *testing.T) {
	goroutines, calls := 1000, 20
	if testing.Short() {
		goroutines, calls = 100, 5
	}
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs, want := serially(32)
		lanes := torch.NewLanes(2, torch.LanesOptions{Threads: 1})
		defer lanes.Close()
		for i := range inputs { // warm both lanes up
			_, err := lanes.Do1(t.Context(), func() torch.Tensor { return model(inputs[i]) })
			require.NoError(t, err)
		}
		before := process()
		var wrong, served, dropped atomic.Int64
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for n := range calls {
					ctx, cancel := context.WithCancel(context.Background())
					if (g+n)%10 == 0 {
						time.AfterFunc(time.Duration(n)*time.Millisecond, cancel)
					}
					i := (g*calls + n) % len(inputs)
					var equal bool
					err := lanes.Do(ctx, func() {
						torch.Scope(func() { equal = model(inputs[i]).Equal(want[i]) })
					})
					switch {
					case errors.Is(err, context.Canceled):
						dropped.Add(1)
					case err != nil:
						t.Error(err)
					case !equal:
						wrong.Add(1)
					default:
						served.Add(1)
					}
					cancel()
				}
			})
		}
		all.Wait()
		after := process() // Go keeps the threads that it has started
		require.Zero(t, wrong.Load(), "results that differ from those of one goroutine")
		require.EqualValues(t, goroutines*calls, served.Load()+dropped.Load())
		grown := after.Resident - before.Resident
		t.Logf("%d served, %d given up, %d threads more", served.Load(), dropped.Load(), after.Threads-before.Threads)
		reliability.AtMost(t, "a function in lanes: OS threads more than before", int64(after.Threads-before.Threads),
			int64(runtime.GOMAXPROCS(0)*2+16))
		if !underRace {
			atMost(t, "a function in lanes: growth of resident memory", grown, 64*megabyte)
		}
	})
}

// Without lanes, the bound on heavy operations keeps most goroutines from an OS thread:
// where there was none, 2,000 goroutines made 178 threads, which kept 11 GB.
func TestPlainGoroutinesDoNotMultiplyThreads(t *testing.T) {
	const goroutines, calls = 500, 2
	torchtest.NoLeaks(t)
	x, kernel, w := torch.RandN(64, 3, 16, 16), torch.RandN(16, 3, 3, 3), torch.RandN(256, 256)
	before := int64(process().Threads)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range calls {
				aten.Conv2d(x, kernel).ReLU().Mean()
				w.MM(w).Softmax(-1)
			}
		})
	}
	all.Wait()
	reliability.AtMost(t, "a function in plain goroutines: OS threads more than before",
		int64(process().Threads)-before, int64(20*runtime.GOMAXPROCS(0)))
}

// A goroutine in a mode keeps its thread while it waits for its turn, and Go ends a process with
// ten thousand threads: most goroutines have to wait before they enter the mode.
func TestGoroutinesInModesDoNotMultiplyThreads(t *testing.T) {
	goroutines := 12_000
	if underRace { // which follows 8,128 at the most
		goroutines = 2_000
	}
	torchtest.NoLeaks(t)
	w := torch.RandN(128, 128)
	before := int64(process().Threads)
	var most atomic.Int64
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			torch.Scope(func() {
				torch.Inference(func() { w.MM(w).Softmax(-1) })
			})
			if g%100 == 0 {
				most.Store(max(most.Load(), int64(process().Threads)))
			}
		})
	}
	all.Wait()
	reliability.AtMost(t, "12,000 goroutines in scopes and modes: OS threads more than before", most.Load()-before,
		int64(256*torch.NumThreads()+64))
}

// model is small, but has operations that OpenMP shares among threads.
func model(x torch.Tensor) torch.Tensor {
	return x.MatMul(x.T()).Softmax(-1).MatMul(x).Tanh()
}

func serially(n int) (inputs, outputs []torch.Tensor) {
	torch.ManualSeed(3)
	for range n {
		x := torch.RandN(64, 64)
		inputs, outputs = append(inputs, x), append(outputs, model(x))
	}
	return inputs, outputs
}
