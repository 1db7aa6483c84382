package cgo

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Handle owns one reference to a C++ object: a tensor, or one of the other kinds.
type Handle struct {
	impl  atomic.Uintptr // the object; written once, before anyone else sees the handle
	uses  atomic.Int32   // calls in flight; negative from the moment of closing
	net   bool           // it is outside all scopes: the garbage collector frees it if nobody closes it
	kind  HandleKind     // what the object is, if net is true
	watch watch
}

// HandleKind tells handles apart for counting.
type HandleKind uint8

// The kinds. Scopes hold tensors alone.
const (
	TensorKind    HandleKind = iota
	GeneratorKind            // of random numbers
	DeviceKind               // events, memory pools and graphs of a card
	NodeKind                 // of the graph that autograd records
	ProgramKind              // compiled programs, and modules of TorchScript
	ListKind                 // lists of tensors that stay in C++
	GroupKind                // stores and groups of processes, and what is under way in them
	kinds
)

// closedMark makes uses negative and leaves room for the calls in flight.
const closedMark = math.MinInt32

var (
	netLive [kinds]atomic.Int64
	netMade atomic.Int64
)

// adopt takes over a reference that came through the door.
func adopt(impl, scope uint64) *Handle {
	if impl == 0 {
		return nil
	}
	if scope != 0 {
		return scopeAt(scope).add(uintptr(impl))
	}
	return newNetted(uintptr(impl), TensorKind)
}

// newNetted makes a handle outside all scopes. Its net is a finalizer, not a cleanup of the
// runtime's: those wait in a queue of the processor that found them, and where GOMAXPROCS falls,
// as it does by itself when a container's share of the machine changes, that queue waits for the
// processor to come back. Finalizers have one queue, and cost less.
//
//go:noinline
func newNetted(impl uintptr, k HandleKind) *Handle {
	h := blank()
	h.net, h.kind = true, k
	h.impl.Store(impl)
	runtime.SetFinalizer(h, (*Handle).found)
	trace(h)
	unseen()
	netLive[k].Add(1)
	made := netMade.Add(1)
	seen()
	watchCards(made)
	return h
}

// blanks are handles to come, neighbours in memory. The runtime keeps the finalizers of neighbours in a list, by address,
// and walks it to add one: whoever begins with the highest address has the shortest way, a sixth of an addition's time.
type blanks struct {
	n    int
	list [512]*Handle // by address
	next *Handle      // the first of other neighbours
}

var spare = sync.Pool{New: func() any { return &blanks{next: new(Handle)} }}

// blank is a handle that nobody has had.
func blank() *Handle {
	b := spare.Get().(*blanks)
	if b.n == 0 {
		b.fill()
	}
	b.n--
	h := b.list[b.n]
	b.list[b.n] = nil
	spare.Put(b)
	return h
}

// fill makes handles until one lies elsewhere.
func (b *blanks) fill() {
	first := b.next
	for h := first; ; h = new(Handle) {
		if b.n == len(b.list) || span(h) != span(first) {
			b.next = h
			return
		}
		b.list[b.n] = h
		b.n++
	}
}

// span is the piece of memory, of 8 KB, that the runtime made the handle in.
func span(h *Handle) uintptr { return uintptr(unsafe.Pointer(h)) >> 13 }

// found is called when nothing refers to the handle any more.
func (h *Handle) found() {
	untrace(h)
	h.unwatch()
	netLive[h.kind].Add(-1)
	garbage.add(h.impl.Load())
}

// pin holds the object for the duration of a call; false if the handle is closed. The
// count of a closed handle never grows: when it reaches closedMark, the last call has
// ended.
func (h *Handle) pin() bool {
	unseen()
	uses := h.uses.Load()
	for uses >= 0 && !h.uses.CompareAndSwap(uses, uses+1) {
		uses = h.uses.Load()
	}
	seen()
	return uses >= 0
}

// unpin ends a call's use. If the handle was closed meanwhile, the last call to end
// gives the object back.
func (h *Handle) unpin() {
	if unseenAdd(&h.uses, -1) == closedMark {
		h.release()
	}
}

// Close gives the object back, at once or when the calls that use it have ended. Closing
// nil or a second time does nothing.
func (h *Handle) Close() {
	if h != nil && h.close() {
		h.release()
	}
}

// close marks the handle; true if no call is using it, so that it can be released now.
func (h *Handle) close() bool {
	for {
		uses := h.uses.Load()
		if uses < 0 {
			return false
		}
		if h.uses.CompareAndSwap(uses, uses+closedMark) {
			return uses == 0
		}
	}
}

// take returns the object of a handle that has just been closed and that no call uses.
// Whoever closed it, or the last call to end, gives it back.
func (h *Handle) take() uint64 {
	if h.net {
		runtime.SetFinalizer(h, nil)
		netLive[h.kind].Add(-1)
	}
	untrace(h)
	h.unwatch()
	return uint64(h.impl.Load())
}

func (h *Handle) release() {
	freeWords([]uint64{0, h.take()})
}

// Closed tells whether the handle was closed.
func (h *Handle) Closed() bool { return h.uses.Load() < 0 }

// whyClosed says why the handle cannot be used, and what the program can do.
func (h *Handle) whyClosed() string {
	text := "a tensor was used after it had been closed"
	if h.Scoped() {
		text += ", or after the Scope that it belonged to had ended: Keep takes a tensor out of its Scope"
	}
	return text + life(h)
}

// Scoped tells whether the handle belongs to a scope.
func (h *Handle) Scoped() bool { return !h.net }

// freeWords gives back objects, all in one call. Word 0 is room for their number.
func freeWords(words []uint64) {
	if len(words) <= 1 {
		return
	}
	words[0] = uint64(len(words) - 1)
	var f frame
	door(OpFree, &words[0], &f) // freeing has no errors and must not drain in turn
	if f.flags&flagDropped != 0 {
		takeDropped()
	}
}

// storage is the identity of a tensor's memory and its size in bytes; 0 for a closed handle
// and for an object without memory.
func (h *Handle) storage() (id uint64, bytes int64) {
	if !h.pin() {
		return 0, 0
	}
	defer h.unpin()
	var c Call
	c.Begin(OpStorage)
	c.put(uint64(h.impl.Load()))
	c.ask()
	takeString(c.frame.msg, -1)
	return c.frame.out[0], int64(c.frame.out[1])
}
