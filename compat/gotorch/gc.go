package gotorch

import (
	"runtime"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// What tensors and bytes GC lets pass: a collection for less would cost more than the memory that it finds is worth.
const (
	fewTensors = 2 << 10
	fewBytes   = 16 << 20
)

// turn is how long a goroutine goes on before GC has it go to the end of Go's queue. One that only calls C for 10 ms loses its place
// to Go's monitor, which then stays awake and looks every 20 microseconds: a twentieth of the processor in steps of 2 ms.
const turn = 4 * time.Millisecond

// least is the least that was in use when GC was called, since the last collection.
var least struct {
	mu      sync.Mutex
	tensors int
	bytes   int64
	yielded time.Time
}

// GC may stand at the head of an iteration, where it had to. It collects once enough has come together since the last time, so
// that a step finds the memory of the one before. Without it the garbage collector knows what tensors hold, and calls itself in
// time.
func GC() {
	if !least.mu.TryLock() {
		return // another goroutine is at it
	}
	defer least.mu.Unlock()
	if time.Since(least.yielded) > turn {
		runtime.Gosched()
		least.yielded = time.Now()
	}
	now := torch.Stats()
	least.tensors, least.bytes = min(least.tensors, now.Unscoped), min(least.bytes, now.HostBytes)
	if now.Unscoped-least.tensors < fewTensors && now.HostBytes-least.bytes < fewBytes {
		return
	}
	torch.GC()
	now = torch.Stats()
	least.tensors, least.bytes = now.Unscoped, now.HostBytes
}

// FinishGC frees all that the program no longer refers to.
func FinishGC() { torch.GC() }
