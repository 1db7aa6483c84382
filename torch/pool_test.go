package torch_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/cgo"
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

// Goroutines make tensors of all sizes, and others free them, while what threads keep is taken from them: no two ever share memory.
func TestTensorsHaveMemoryOfTheirOwn(t *testing.T) {
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
				n := 1 << (4 + random.IntN(16)) // 64 bytes to 2 MB
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
	over := make(chan struct{})
	var emptier sync.WaitGroup
	emptier.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(100 * time.Microsecond):
				cgo.EmptyHeaps()
			}
		}
	})
	all.Wait()
	close(over)
	emptier.Wait()
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

// What was freed a short time ago is in a cache of the processor still: a tensor takes it, and not what is as long as it needs but far.
func TestFreedMemoryIsTakenWhileItIsNear(t *testing.T) {
	require.Equal(t, "near far\n", runChild(t, "near"))
}

// childNear has a process of its own: what other tests have freed could lie beside a block, and be one with it.
func childNear() {
	torch.Scope(func() {
		block := func(floats int, value float32) torch.Tensor { // between others, so that no neighbours are free with it
			torch.Empty(megabyte)
			x := torch.Empty(floats)
			torch.Empty(megabyte)
			x.FillInPlace(value)
			return x
		}
		near, far := block(megabyte/2, 1), block(megabyte/4, 2)
		far.Close()
		block(4*megabyte, 0) // which a cache has no room for beside others
		near.Close()
		names := map[float32]string{1: "near", 2: "far"}
		taken := func() string { return names[torch.Values[float32](torch.Empty(megabyte / 4))[megabyte/8]] }
		fmt.Println(taken(), taken()) // of the near one not as much is left
	})
}

// What threads keep that sleep is taken from them.
func TestFreedMemoryOfSleepingThreads(t *testing.T) {
	torchtest.NoLeaks(t)
	const threads, perThread = 32, megabyte // about as many bytes
	begun, over := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			onFreshThread(func() {
				torch.Scope(func() {
					for range perThread / (16 << 10) {
						torch.Zeros(4 << 10)
					}
				})
				begun <- struct{}{}
				<-over
			})
		})
	}
	for range threads {
		<-begun
	}
	before := process().Resident
	cgo.EmptyHeaps()
	require.Less(t, process().Resident, before-threads*perThread/2)
	close(over)
	all.Wait()
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
