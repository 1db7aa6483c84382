package cgo

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// garbage holds objects whose handles the collector found dead. Finalizers run on a thread
// that the runtime chooses, so they only leave a note; the next call frees the objects.
var garbage trash

type trash struct {
	pending atomic.Bool
	mu      sync.Mutex
	impls   []uint64
	kept    atomic.Int64 // bytes resident beyond libtorch's live and spare ones, after the last trim
}

func (g *trash) add(impl uintptr) {
	g.mu.Lock()
	if len(g.impls) == 0 {
		g.impls = append(g.impls, 0) // room for freeWords
	}
	g.impls = append(g.impls, uint64(impl))
	g.mu.Unlock()
	g.pending.Store(true)
}

func (g *trash) drain() {
	if !g.pending.Load() {
		return
	}
	g.mu.Lock()
	impls := g.impls
	g.impls = nil
	g.pending.Store(false)
	g.mu.Unlock()
	used := HostBytes()
	freeWords(impls)
	g.trim(used)
}

// trim gives freed memory back to the kernel. Large tensors take what others have freed, on whichever
// thread, so that what was in use until now may stay: the next step of a training loop takes as much again,
// and would find each of its pages missing. What is small, and what libtorch allocates for itself, glibc keeps for
// the thread that allocated it; goroutines change threads, and in time every thread of the process would keep as much.
func (g *trash) trim(used int64) {
	const slack = headroom / 2 // what libtorch keeps beside the elements
	live, _, spare := HostMemory()
	if spare > used+headroom {
		EmptyHeaps()
		spare = 0
	} else {
		if resident()-spare-g.kept.Load() < max(live+headroom, used)+slack {
			return
		}
		answer(OpTrimHeaps)
	}
	g.kept.Store(resident() - spare - live)
}

// EmptyHeaps gives all that is free back to the kernel, for tensors of any size.
func EmptyHeaps() {
	var c Call
	c.Begin(OpEmptyCache)
	c.Code(0) // the CPU
	c.ask()
}

// ReleaseSpare gives freed memory back to the kernel if it is much: after work that takes a lot of it, and that is not done again soon.
func ReleaseSpare() {
	if _, _, spare := HostMemory(); spare > headroom {
		EmptyHeaps()
	}
}

// Collect runs the garbage collector, waits for the finalizers it queued, and frees what
// they left. The goroutine stays on its thread, because it will use that thread's free
// memory again.
func Collect() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	awaitFinalizers()
	garbage.drain()
}

// awaitFinalizers lets the runtime's goroutine run the finalizers that the collector has
// queued. The program's own finalizers may take forever, so the wait is bounded.
func awaitFinalizers() {
	const patience, nap = 100 * time.Millisecond, 20 * time.Microsecond
	counts := []metrics.Sample{{Name: "/gc/finalizers/queued:finalizers"}, {Name: "/gc/finalizers/executed:finalizers"}}
	metrics.Read(counts)
	queued, deadline := counts[0].Value.Uint64(), time.Now().Add(patience)
	for counts[1].Value.Uint64() < queued && time.Now().Before(deadline) {
		time.Sleep(nap)
		metrics.Read(counts)
	}
}

// resident counts the process's bytes of memory; 0 if the system does not tell.
func resident() (bytes int64) {
	text, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		bytes, _ = strconv.ParseInt(fields[1], 10, 64)
	}
	return bytes * int64(os.Getpagesize())
}

// HostBytes counts the bytes of host memory that libtorch has allocated, whoever holds
// them.
func HostBytes() int64 {
	live, _, _ := HostMemory()
	return live
}

// HostMemory returns HostBytes, its maximum since ResetPeak, and the bytes that have been freed and wait for the next tensors.
func HostMemory() (live, peak, spare int64) {
	var c Call
	c.Begin(OpHostMemory)
	c.ask()
	return int64(c.frame.out[0]), int64(c.frame.out[1]), int64(c.frame.out[2])
}

// ResetPeak sets the peak of HostMemory to what is live now.
func ResetPeak() { word(OpResetPeakMemory, 0) }

// LiveScoped counts the open handles of all scopes.
func LiveScoped() (n int) {
	for s := range allScopes() {
		n += len(s.handles())
	}
	return n
}

// LiveUnscoped counts the open handles of a kind that belong to no scope.
func LiveUnscoped(k HandleKind) int { return int(netLive[k].Load()) }

// PlaceBlocks puts the blocks of host memory that are made from now on between pages that
// nobody may touch: 1 has them end there, 2 begin there, 3 end closer than libtorch's
// alignment, 0 takes them from the heap again. The process must have been started with
// LIBTORCH_GO_GUARD=1 in its environment; it is for ./build.sh fuzz.
func PlaceBlocks(at int) *Error {
	var c Call
	c.Begin(OpPlaceBlocks)
	c.Int(at)
	return c.Run()
}
