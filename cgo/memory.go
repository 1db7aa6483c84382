package cgo

import (
	"log/slog"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Go's collector sees a handle of a few bytes where libtorch holds megabytes. The shim
// counts libtorch's live bytes, and when they pass a mark, calls come home with a flag:
// then the garbage is collected and the mark set a little above what is really in use.
const (
	headroom = 32 << 20
	growth   = 8 // the mark lies headroom, or an 8th if that is more, above live bytes
)

// garbage holds objects whose handles the collector found dead. Cleanups run on threads
// of the runtime's choosing, so they only leave a note; the next call frees.
var garbage trash

type trash struct {
	pending atomic.Bool
	mu      sync.Mutex
	impls   []uint64
	kept    atomic.Int64 // bytes resident beyond libtorch's live ones, after the last trim
}

func (g *trash) add(impl uintptr) {
	g.mu.Lock()
	if len(g.impls) == 0 {
		g.impls = append(g.impls, 0) // room for freeWords
	}
	g.impls = append(g.impls, uint64(impl))
	g.mu.Unlock()
	netLive.Add(-1)
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
	freeWords(impls)
	g.trim()
}

// trim gives freed memory back to the kernel. glibc keeps it for the thread that allocated
// it, which costs no more than one round of garbage on one thread; but goroutines change
// threads, and each thread of the process would come to hold as much.
func (g *trash) trim() {
	const round = headroom + headroom/2 // elements, and what libtorch keeps besides
	if resident()-HostBytes() < g.kept.Load()+round {
		return
	}
	var c Call
	c.Begin(OpEmptyCache)
	c.Code(0) // the CPU
	door(c.op, &c.words[0], &c.frame)
	g.kept.Store(resident() - HostBytes())
}

// resident counts the process's bytes of memory; 0 where the system does not tell.
func resident() (bytes int64) {
	text, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		bytes, _ = strconv.ParseInt(fields[1], 10, 64)
	}
	return bytes * int64(os.Getpagesize())
}

// Collect runs the garbage collector, waits for the cleanups it queued, and frees what
// they left. The goroutine stays on its thread, whose free memory it will want again.
func Collect() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	awaitCleanups()
	garbage.drain()
}

// awaitCleanups lets the runtime's goroutines run the cleanups that the collector has
// queued. A program's own may take forever; ours do not need that long.
func awaitCleanups() {
	const patience, nap = 100 * time.Millisecond, 20 * time.Microsecond
	counts := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(counts)
	queued, deadline := counts[0].Value.Uint64(), time.Now().Add(patience)
	for counts[1].Value.Uint64() < queued && time.Now().Before(deadline) {
		time.Sleep(nap)
		metrics.Read(counts)
	}
}

var pressure struct {
	mu   sync.Mutex
	made int64 // handles made outside scopes at the last collection
}

// relieve collects because libtorch's memory passed the mark. Where nothing was made
// outside scopes since the last time, a collection cannot help: only the mark moves.
func relieve() {
	if !pressure.mu.TryLock() {
		return // another goroutine is at it
	}
	defer pressure.mu.Unlock()
	if made := netMade.Load(); made != pressure.made {
		pressure.made = made
		Collect()
	}
	live := HostBytes()
	setLimit(live + max(headroom, live/growth))
}

func setLimit(bytes int64) {
	var c Call
	c.Begin(OpLimit)
	c.put(uint64(bytes))
	door(c.op, &c.words[0], &c.frame)
}

// HostBytes counts the bytes of host memory that libtorch has handed out, whoever holds
// them.
func HostBytes() int64 {
	var c Call
	c.Begin(OpHostMemory)
	door(c.op, &c.words[0], &c.frame)
	return int64(c.frame.out[0])
}

// Live counts the open handles: those of scopes, and those outside.
func Live() (scoped, unscoped int) {
	scopes.mu.Lock()
	last := scopes.next
	scopes.mu.Unlock()
	for id := uint64(1); id <= last; id++ {
		scoped += scopeAt(id).live()
	}
	return scoped, int(netLive.Load())
}

var warningHandler atomic.Pointer[func(string)]

// OnWarning sets who is told of libtorch's warnings; nil restores the default, which
// logs each text once.
func OnWarning(fn func(text string)) {
	if fn == nil {
		warningHandler.Store(nil)
		return
	}
	warningHandler.Store(&fn)
}

func deliverWarnings() {
	var c Call
	c.Begin(OpWarnings)
	door(c.op, &c.words[0], &c.frame)
	for text := range strings.SplitSeq(strings.TrimSuffix(c.Text(0), "\x00"), "\x00") {
		if fn := warningHandler.Load(); fn != nil {
			(*fn)(text)
		} else if _, seen := warned.LoadOrStore(text, true); !seen && text != "" {
			slog.Warn("torch: " + text)
		}
	}
}

var warned sync.Map
