package torch_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// faults counts the pages that this process has found missing so far.
func faults(t *testing.T) int64 {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Minflt
}

// onFreshThread runs fn on an OS thread that has run nothing before, and waits.
func onFreshThread(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocks it: the thread ends with the goroutine
		fn()
	}()
	<-done
}

// Goroutines make large tensors of all sizes, and others free them: no two ever share memory.
func TestLargeTensorsHaveMemoryOfTheirOwn(t *testing.T) {
	torchtest.NoLeaks(t)
	type owned struct {
		x  torch.Tensor
		id float32
	}
	var all sync.WaitGroup
	exchange := make(chan owned, 16)
	check := func(o owned) {
		v := torch.Values[float32](o.x)
		assert.Equal(t, []float32{o.id, o.id, o.id}, []float32{v[0], v[len(v)/2], v[len(v)-1]})
		o.x.Close()
	}
	for g := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			var held []owned
			for i := range reliability.Size(20_000, 1_000) {
				n := 1 << (12 + random.IntN(8)) // 16 KB to 2 MB
				o := owned{torch.Empty(n + random.IntN(n)), float32(g*100_000 + i)}
				o.x.FillInPlace(o.id)
				if held = append(held, o); len(held) < 12 {
					continue
				}
				at := random.IntN(len(held))
				held[at], held[0] = held[0], held[at]
				select {
				case exchange <- held[0]:
				default:
					check(<-exchange)
					check(held[0])
				}
				held = held[1:]
			}
			for _, o := range held {
				check(o)
			}
		})
	}
	all.Wait()
	close(exchange)
	for o := range exchange {
		check(o)
	}
}

// What one thread has freed the next one takes: its pages are there, and the process does not grow with each thread.
func TestFreedMemoryIsForAllThreads(t *testing.T) {
	torchtest.NoLeaks(t)
	const tensors, size, page = 16, megabyte, 4096 // 64 MB of float32
	use := func() {
		torch.Scope(func() {
			for range tensors {
				torch.Zeros(size)
			}
		})
	}
	onFreshThread(use)
	before, resident := faults(t), process().Resident
	for range 8 {
		onFreshThread(use)
	}
	require.Less(t, faults(t)-before, int64(8*tensors*size*4/page/4), "pages that were missing again")
	require.Less(t, process().Resident, resident+32*megabyte)
}

// Memory that was in use once and is not any more goes back to the kernel with the second collection: the first cannot know.
func TestSpareMemoryGoesBack(t *testing.T) {
	torchtest.NoLeaks(t)
	const size = 128 * megabyte // of float32
	torch.Zeros(size).Close()
	large := process().Resident
	for range 2 {
		torch.Zeros(1) // garbage
		torch.GC()
	}
	require.Less(t, process().Resident, large-size*4/2)
}
