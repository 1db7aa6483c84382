package cgo

import (
	"sync"
	"sync/atomic"
)

// Go's collector sees a handle of a few bytes while libtorch holds megabytes. So libtorch's
// live bytes are counted, on the host by the shim's allocator and on a card by libtorch's
// own. When they pass a mark, Go collects garbage and moves the mark a little above what is
// really in use.
const (
	headroom = 32 << 20
	growth   = 8 // the mark lies headroom, or an 8th if that is more, above live bytes
)

// hostMemory is the CPU's number where cards have their index.
const hostMemory = -1

var pressure struct {
	mu          sync.Mutex
	made        int64         // handles made outside scopes at the last collection
	soft        map[int]int64 // below this, live bytes of the device are no reason to collect
	hard        int64         // limit for the host's live bytes; 0 = none
	cards       map[int]int64 // the mark of each card; the host's is in the shim
	collections atomic.Int64
	exhausted   atomic.Int64 // calls that found no memory left
}

// nextMark is the number of live bytes at which to collect again, if this many are in
// use now.
func nextMark(live, soft int64) int64 { return max(soft, live+max(headroom, live/growth)) }

// relieve collects because the memory of a device passed its mark. If no handle was made
// outside scopes since the last time, a collection cannot help, and only the mark moves.
func relieve(device int) {
	if !pressure.mu.TryLock() {
		return // another goroutine is doing it
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

// SetSoftLimit sets how many live bytes a device may hold before Go collects because of
// them; device -1 is the host. 0 is the default. It returns the limit set before.
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

// SetHardLimit limits the live bytes of the host: an allocation that would pass the
// limit fails. 0 means no limit. It returns the limit set before.
func SetHardLimit(bytes int64) (before int64) {
	pressure.mu.Lock()
	defer pressure.mu.Unlock()
	before, pressure.hard = pressure.hard, bytes
	word(OpBound, uint64(bytes))
	return before
}

// Collections counts how often Go collected because of the memory in use, and how often
// a call ran out of memory.
func Collections() (pressed, exhausted int64) {
	return pressure.collections.Load(), pressure.exhausted.Load()
}

// watchCards checks the memory of the cards after every few handles that only the
// collector will free, because those handles hold the memory.
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
