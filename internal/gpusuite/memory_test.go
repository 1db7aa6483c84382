package gpusuite

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// work computes a little on the card, forwards and backwards.
func work() (sum float64) {
	torch.Scope(func() {
		x := on.Ones(64, 64)
		w := on.Full([]int{64, 64}, 0.5).SetRequiresGrad(true)
		x.MatMul(w).ReLU().Sum().Backward()
		sum = w.Grad().Sum().Float64()
	})
	return sum
}

func TestAllocatorBytesComeBack(t *testing.T) {
	needCard(t)
	work()
	before := cuda.MemoryStats(0)
	for range 100 {
		work()
	}
	after := cuda.MemoryStats(0)
	reliability.Exactly(t, "bytes allocated after 100 steps, above those before",
		after.AllocatedBytes.All.Current-before.AllocatedBytes.All.Current, 0)
	reliability.Exactly(t, "blocks", after.Allocation.All.Current-before.Allocation.All.Current, 0)
	require.Greater(t, after.Allocation.All.Allocated, before.Allocation.All.Allocated)

	cuda.ResetAccumulatedMemory(0)
	cuda.ResetPeakMemory(0)
	reset := cuda.MemoryStats(0)
	require.Zero(t, reset.Allocation.All.Allocated)
	require.Equal(t, reset.AllocatedBytes.All.Current, reset.AllocatedBytes.All.Peak)
	require.Contains(t, cuda.MemorySummary(0, true), "PyTorch CUDA memory summary, device ID 0")
	cuda.EmptyCache()
	require.Less(t, cuda.Memory(0).Reserved, reset.ReservedBytes.All.Current+1)
}

// Every thread gets its context and its handles, and returns them. Handles are kept, each with
// its working memory: as many as there were threads at a time, and a few for threads that are
// still ending while others begin.
func TestThousandFreshThreads(t *testing.T) {
	needCard(t)
	threads := reliability.Size(1000, 1000)
	want := work()
	before := cuda.Memory(0).Allocated
	const atOnce, workspace = 16, 32 << 20
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	wrong := make(chan float64, threads)
	for range threads {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			if got := work(); got != want {
				wrong <- got
			}
		})
	}
	group.Wait()
	reliability.Exactly(t, "wrong results on 1,000 threads", len(wrong), 0)
	torch.GC()
	reliability.AtMost(t, "memory that their handles keep", (cuda.Memory(0).Allocated-before)>>20, 4*atOnce*workspace>>20, "MB")
}

// Memory that a stream still reads is not given away, if the stream was recorded.
func TestStreamsReadWhatIsFreed(t *testing.T) {
	needCard(t)
	const n = 1 << 22
	side, current := cuda.NewStream(0, cuda.StreamOptions{Priority: -1}), cuda.CurrentStream(0)
	require.NotEqual(t, current, side)
	require.Equal(t, -1, side.Priority())
	wrong := 0
	for range 50 {
		torch.Scope(func() {
			sum := torch.Zeros()
			torch.Scope(func() {
				x := on.Ones(n)
				slow := on.Ones(2048, 2048)
				side.WaitStream(current)
				cuda.WithStream(side, func() {
					for range 5 { // delays the stream's use of x
						slow = slow.MatMul(slow).Mul(on.Full(nil, 1e-4))
					}
					sum = x.Sum().MoveOut()
				})
				cuda.RecordStream(side, x)
				x.Close()
				for range 8 {
					on.Full([]int{n}, 7).Close() // wants the memory of x
				}
				current.WaitStream(side)
				cuda.Synchronize(0)
			})
			if sum.Float64() != n {
				wrong++
			}
		})
	}
	reliability.Exactly(t, "sums that saw other numbers", wrong, 0)
}

func TestEvents(t *testing.T) {
	needCard(t)
	for _, blocking := range []bool{false, true} {
		o := cuda.EventOptions{Timing: true, Blocking: blocking}
		start, end := cuda.NewEvent(o), cuda.NewEvent(o)
		require.True(t, start.Query(), "an event that was never recorded is past")
		require.ErrorIs(t, torch.Try(func() { start.Elapsed(end) }), torch.ErrValue)
		start.Record()
		torch.Scope(func() {
			x := on.Ones(2048, 2048)
			for range 20 {
				x = x.MatMul(x)
			}
		})
		end.Record()
		end.Synchronize()
		require.True(t, end.Query())
		took := start.Elapsed(end)
		require.Positive(t, took)
		require.Less(t, took, time.Minute)
		other := cuda.NewStream(0)
		end.Wait(other)
		other.Synchronize()
		require.True(t, other.Query())
		start.Close()
		end.Close()
	}
	untimed := cuda.DefaultStream(0).RecordEvent()
	defer untimed.Close()
	require.ErrorIs(t, torch.Try(func() { untimed.Elapsed(untimed) }), torch.ErrValue)
	external := cuda.ExternalStream(cuda.NewStream(0).Pointer(), 0)
	cuda.WithStream(external, func() {
		require.Equal(t, external, cuda.CurrentStream(0))
		torch.Scope(func() { require.Equal(t, 4.0, on.Ones(4).Sum().Float64()) })
	})
	require.Equal(t, cuda.DefaultStream(0), cuda.CurrentStream(0))
}

// Out of memory is an error, again and again, and the next smaller tensor is fine.
func TestOutOfMemoryAndOn(t *testing.T) {
	needCard(t)
	_, total := cuda.MemoryInfo(0)
	const part, tooMuch = 0.25, 0.5 // of the card
	cuda.SetMemoryFraction(0, part)
	defer cuda.SetMemoryFraction(0, 1)
	require.InDelta(t, part, cuda.MemoryFraction(0), 1e-6)
	recovered := 0
	for range 100 {
		err := torch.Try(func() { torch.Scope(func() { on.Empty(int(tooMuch * float64(total) / 4)) }) })
		require.ErrorIs(t, err, torch.ErrOutOfMemory)
		if work() > 0 {
			recovered++
		}
	}
	reliability.Exactly(t, "steps right after running out of memory", recovered, 100)
	require.GreaterOrEqual(t, cuda.Memory(0).OutOfMemory, int64(100))
	require.NoError(t, torch.Unhealthy())
}

func TestPinnedCopies(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		host := torch.TensorOptions{DType: torch.Float32, PinMemory: true}.Ones(1 << 20)
		require.True(t, host.IsPinned())
		x := host.To(dev, torch.NonBlocking)
		back := torch.TensorOptions{DType: torch.Float32, PinMemory: true}.Empty(1 << 20)
		back.CopyInPlace(x.MulScalar(2), torch.CopyOptions{NonBlocking: true})
		cuda.CurrentStream(0).Synchronize()
		require.Equal(t, 2.0, back.Min().Float64())
	})
}

func TestSnapshotOfACard(t *testing.T) {
	needCard(t)
	cuda.RecordMemoryHistory(cuda.MemoryHistoryOptions{MaxEntries: 1000})
	defer cuda.RecordMemoryHistory(cuda.MemoryHistoryOptions{Off: true})
	torch.Scope(func() {
		torch.GC() // nothing is freed between the two counts below
		x := on.Ones(1 << 20)
		path := filepath.Join(t.TempDir(), "snapshot.pickle")
		require.NoError(t, cuda.DumpSnapshot(path))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Positive(t, info.Size())
		s := cuda.MemorySnapshot()
		var allocated uint64
		for _, segment := range s.Segments {
			var size uint64
			for _, b := range segment.Blocks {
				size += b.Size
				if b.Allocated {
					allocated += b.Size
				}
			}
			require.Equal(t, segment.Size, size)
		}
		require.Equal(t, uint64(cuda.Memory(0).Allocated), allocated)
		require.NotEmpty(t, s.Traces[0])
		require.True(t, x.Defined())
	})
}

func TestRandomStates(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		cuda.ManualSeed(0, 42)
		require.Equal(t, uint64(42), cuda.InitialSeed(0))
		state := cuda.RNGState(0)
		first := torch.Values[float32](on.RandN(100))
		cuda.SetRNGState(0, state)
		require.Equal(t, first, torch.Values[float32](on.RandN(100)))
		cuda.ManualSeedAll(42)
		require.Equal(t, first, torch.Values[float32](on.RandN(100)))
	})
}
