package torch_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestHardLimit(t *testing.T) {
	torchtest.NoLeaks(t)
	room := torch.Stats().HostBytes + 8*megabyte
	before := torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: room})
	require.Equal(t, torch.MemoryLimits{}, before)
	defer torch.SetMemoryLimits(torch.CPU, before)
	kept := torch.Empty(megabyte) // 4 MB
	defer kept.Close()
	exhausted := torch.Stats().Exhausted
	for range 3 {
		err := torch.Try(func() { torch.Empty(2 * megabyte) })
		require.ErrorIs(t, err, torch.ErrOutOfMemory)
		require.ErrorContains(t, err, fmt.Sprintf("would pass the limit of %d bytes", room))
	}
	require.Equal(t, exhausted+3, torch.Stats().Exhausted)
	for range 20 {
		torch.Empty(megabyte - 1024) // dropped: each finds the last one's room after a collection
	}
	require.ErrorIs(t, torch.Try(func() { kept.AddInPlace(torch.Empty(2 * megabyte)) }), torch.ErrOutOfMemory)
	require.Equal(t, torch.MemoryLimits{Hard: room}, torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{}))
	torch.Empty(2 * megabyte).Close()
}

// Goroutines that fill the memory at the same time do not pass the limit together.
func TestHardLimitHoldsForAll(t *testing.T) {
	const goroutines, rounds, blocks = 16, 30, 64
	torchtest.NoLeaks(t)
	torch.ResetPeakMemory()
	room := torch.Stats().HostBytes + blocks*megabyte
	defer torch.SetMemoryLimits(torch.CPU, torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: room}))
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range rounds {
				torch.Scope(func() {
					for torch.Try(func() { torch.Empty(megabyte / 4) }) == nil {
					}
				})
			}
		})
	}
	all.Wait()
	const more = 1 << 13 // what malloc adds to a block
	require.InDelta(t, room-megabyte/2, torch.Stats().HostPeak, megabyte/2+more)
}

func TestSoftLimit(t *testing.T) {
	torchtest.NoLeaks(t)
	collections := func(tensors int) int64 {
		torch.GC()
		before := torch.Stats().Collections
		for range tensors {
			torch.Empty(megabyte)
		}
		return torch.Stats().Collections - before
	}
	require.GreaterOrEqual(t, collections(50), int64(3), "200 MB of garbage, 32 at a time")
	before := torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Soft: torch.Stats().HostBytes + 100*megabyte})
	require.Zero(t, collections(20), "80 MB of garbage, 100 allowed")
	require.NotZero(t, collections(50))
	require.NotZero(t, torch.SetMemoryLimits(torch.CPU, before).Soft)
	require.GreaterOrEqual(t, collections(50), int64(3))

	for _, l := range []torch.MemoryLimits{{Soft: -1}, {Hard: -1}} {
		require.ErrorIs(t, torch.Try(func() { torch.SetMemoryLimits(torch.CPU, l) }), torch.ErrValue)
	}
	require.ErrorIs(t, torch.Try(func() { torch.SetMemoryLimits(torch.Meta, torch.MemoryLimits{}) }), torch.ErrValue)
}

func TestPeakMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ResetPeakMemory()
	before := torch.Stats()
	require.Equal(t, before.HostBytes, before.HostPeak)
	torch.Empty(megabyte).Close()
	after := torch.Stats()
	require.Equal(t, before.HostBytes, after.HostBytes)
	require.InDelta(t, before.HostBytes+4*megabyte, after.HostPeak, 1<<13) // what malloc adds to a block
	torch.ResetPeakMemory()
	require.Equal(t, after.HostBytes, torch.Stats().HostPeak)
}

func TestStatsByKind(t *testing.T) {
	torchtest.NoLeaks(t)
	base := torch.Stats()
	x, g := torch.Ones(2), torch.NewGenerator(torch.CPU)
	torch.Scope(func() {
		torch.Ones(3)
		s := torch.Stats()
		require.Equal(t, []int{1, 1, 1}, []int{s.Scoped - base.Scoped, s.Unscoped - base.Unscoped, s.Generators - base.Generators})
		require.Equal(t, base.Live()+3, s.Live())
	})
	torch.Close(x)
	g.Close()
	require.Equal(t, base.Live(), torch.Stats().Live())
	runtime.KeepAlive(g)

	v := expvar.Func(func() any { return torch.Stats() })
	var told map[string]int64
	require.NoError(t, json.Unmarshal([]byte(v.String()), &told))
	require.Contains(t, told, "HostBytes")
}

func TestScopesTellWhatTheyHold(t *testing.T) {
	torchtest.NoLeaks(t)
	require.Empty(t, torch.Scopes())
	torch.Scope(func() {
		x := torch.Empty(megabyte)
		x.View(2, -1)
		outer := torch.Scopes()
		require.Len(t, outer, 1)
		require.Equal(t, torch.ScopeStats{ID: outer[0].ID, Tensors: 2, Bytes: 4 * megabyte}, outer[0])
		torch.Scope(func() {
			torch.Empty(10)
			both := torch.Scopes()
			require.Len(t, both, 2)
			require.Contains(t, both, outer[0])
			require.Contains(t, both, torch.ScopeStats{ID: both[0].ID + both[1].ID - outer[0].ID, Outer: outer[0].ID, Tensors: 1, Bytes: 40})
		})
		x.Close()
		require.Equal(t, 1, torch.Scopes()[0].Tensors)
	})
	require.Empty(t, torch.Scopes())
}

// Anyone may ask while scopes open and close.
func TestStatsWhileOthersWork(t *testing.T) {
	torchtest.NoLeaks(t)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 200 {
				torch.Scope(func() { torch.Ones(100).Add(torch.Ones(100)) })
			}
		})
	}
	for range 100 {
		torch.Scopes()
		torch.Stats()
		torch.Concurrency()
	}
	workers.Wait()
}

func TestConcurrencyOfHeavyOperations(t *testing.T) {
	torchtest.NoLeaks(t)
	before := torch.SetConcurrency(1)
	defer func() { require.Equal(t, 1, torch.SetConcurrency(before)) }()
	require.Zero(t, before, "the default")
	x := torch.RandN(256, 256)
	waited := torch.Concurrency().Waited
	var most int64
	var workers sync.WaitGroup
	var watching sync.WaitGroup
	stop := make(chan bool)
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				most = max(most, torch.Concurrency().Running)
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	for range 8 {
		workers.Go(func() {
			for range 20 {
				x.MM(x)
			}
		})
	}
	workers.Wait()
	close(stop)
	watching.Wait()
	s := torch.Concurrency()
	assert.Equal(t, torch.ConcurrencyStats{Limit: 1, Waited: s.Waited}, s)
	assert.Greater(t, s.Waited, waited)
	assert.LessOrEqual(t, most, int64(1))
	require.ErrorIs(t, torch.Try(func() { torch.SetConcurrency(-1) }), torch.ErrValue)
	require.Error(t, torch.Try(func() { x.MM(torch.Ones(2, 2)) }))
	x.MM(x) // and the error gave its place back
}

// Containers change GOMAXPROCS while a program runs.
func TestConcurrencyFollowsTheProcessors(t *testing.T) {
	torchtest.NoLeaks(t)
	n := runtime.GOMAXPROCS(0)
	require.Zero(t, torch.SetConcurrency(0))
	defer torch.SetConcurrency(0)
	defer runtime.GOMAXPROCS(n)
	runtime.GOMAXPROCS(n + 1)
	x := torch.RandN(256, 256)
	waited := torch.Concurrency().Waited
	for torch.Concurrency().Waited == waited {
		var workers sync.WaitGroup
		for range 4 * n {
			workers.Go(func() { x.MM(x) })
		}
		workers.Wait()
	}
	require.Equal(t, n+1, torch.Concurrency().Limit)
}

// A hook that comes in while a backward pass has the only place computes all the same.
func TestHooksPassTheGate(t *testing.T) {
	torchtest.NoLeaks(t)
	require.Zero(t, torch.SetConcurrency(1))
	defer torch.SetConcurrency(0)
	w := torch.Eye(512).SetRequiresGrad(true)
	var ran atomic.Int64
	for ran.Load() == 0 {
		y := w
		for range 10 {
			y = y.MM(w)
		}
		trained := make(chan bool)
		go func() {
			defer close(trained)
			y.Sum().Backward()
		}()
		time.Sleep(2 * time.Millisecond) // usually it has begun, and not ended
		hook := w.RegisterHook(func(g torch.Tensor) torch.Tensor {
			ran.Add(1)
			return g.MM(g)
		})
		<-trained
		hook.Remove()
	}
	torch.ClearGrads([]torch.Tensor{w})
}
