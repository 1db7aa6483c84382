package cgo

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// Go's collector sees a handle of a few bytes where libtorch holds megabytes. libtorch's live
// bytes are counted, on the host by the shim's allocator and on a card by libtorch's, and
// when they pass a mark the garbage is collected and the mark set a little above what is
// really in use.
const (
	headroom = 32 << 20
	growth   = 8 // the mark lies headroom, or an 8th if that is more, above live bytes
)

// hostMemory stands for the CPU where cards have their index.
const hostMemory = -1

var pressure struct {
	mu          sync.Mutex
	made        int64         // handles made outside scopes at the last collection
	soft        map[int]int64 // below this, live bytes of the device are no reason to collect
	hard        int64         // live bytes that the host may not pass; 0 = any
	cards       map[int]int64 // the mark of each card; the host's is in the shim
	collections atomic.Int64
	exhausted   atomic.Int64 // calls that found no memory left
}

// nextMark is where the collector is wanted again, when this many bytes are in use.
func nextMark(live, soft int64) int64 { return max(soft, live+max(headroom, live/growth)) }

// relieve collects because the memory of a device passed its mark. Where nothing was made
// outside scopes since the last time, a collection cannot help: only the mark moves.
func relieve(device int) {
	if !pressure.mu.TryLock() {
		return // another goroutine is at it
	}
	defer pressure.mu.Unlock()
	if made := netMade.Load(); made != pressure.made {
		pressure.made = made
		pressure.collections.Add(1)
		Collect()
	}
	setMark(device)
}

// setMark puts the mark of a device above what is in use. The caller holds the lock.
func setMark(device int) {
	soft := pressure.soft[device]
	if device == hostMemory {
		word(OpLimit, uint64(nextMark(HostBytes(), soft)))
		return
	}
	live, ok := cardBytes(device)
	if !ok {
		return
	}
	if pressure.cards == nil {
		pressure.cards = map[int]int64{}
	}
	pressure.cards[device] = nextMark(live, soft)
}

// SetSoftLimit sets below how many live bytes of a device, or of the host for -1, the
// collector is left alone; 0 is the default. It returns what was set before.
func SetSoftLimit(device int, bytes int64) (before int64) {
	pressure.mu.Lock()
	defer pressure.mu.Unlock()
	if pressure.soft == nil {
		pressure.soft = map[int]int64{}
	}
	before, pressure.soft[device] = pressure.soft[device], bytes
	setMark(device)
	return before
}

// SetHardLimit makes allocations on the host fail that would make more bytes than this
// live; 0 lets all pass. It returns what was set before.
func SetHardLimit(bytes int64) (before int64) {
	pressure.mu.Lock()
	defer pressure.mu.Unlock()
	before, pressure.hard = pressure.hard, bytes
	word(OpBound, uint64(bytes))
	return before
}

// Collections counts how often the memory in use was a reason to collect, and how often
// a call found none left.
func Collections() (pressed, exhausted int64) {
	return pressure.collections.Load(), pressure.exhausted.Load()
}

// watchCards looks at the memory of the cards, every so many handles that only the
// collector will free: their number is what grows there.
func watchCards(made int64) {
	const every = 64
	if made%every != 0 || !loaded.Load() || noCUDA != nil {
		return
	}
	for device := range cards() {
		live, ok := cardBytes(device)
		pressure.mu.Lock()
		mark, known := pressure.cards[device]
		if ok && !known {
			mark = nextMark(0, pressure.soft[device])
		}
		pressure.mu.Unlock()
		if ok && live > mark {
			relieve(device)
		}
	}
}

var cards = sync.OnceValue(func() int {
	var c Call
	c.Begin(OpDeviceCount)
	c.Code(cudaDevice(-1))
	c.ask()
	takeString(c.frame.msg, -1)
	return int(c.frame.out[0])
})

// cardBytes is what tensors hold of a card; not ok before the first of them.
func cardBytes(device int) (bytes int64, ok bool) {
	var c Call
	c.Begin(OpDeviceMemory)
	c.Code(cudaDevice(device))
	c.ask()
	takeString(c.frame.msg, -1)
	return int64(c.frame.out[0]), c.frame.kind == 0
}

// cudaDevice is a card's number on the wire; -1 is any of them.
func cudaDevice(index int) int64 { return 1<<8 | int64(uint8(index)) }

// word runs an entry that takes one word and answers with nothing.
func word(op Op, w uint64) {
	var c Call
	c.Begin(op)
	c.put(w)
	c.ask()
}

// Collect runs the garbage collector, waits for the finalizers it queued, and frees what
// they left. The goroutine stays on its thread, whose free memory it will want again.
func Collect() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	awaitFinalizers()
	garbage.drain()
}

// awaitFinalizers lets the runtime's goroutine run the finalizers that the collector has
// queued. A program's own may take forever; ours do not need that long.
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
