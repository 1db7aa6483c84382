package cgo

import (
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Handle owns one reference to a C++ object: a tensor or a generator.
type Handle struct {
	impl atomic.Uintptr // the object; written once, before anyone else sees the handle
	uses atomic.Int32   // calls in flight; negative from the moment of closing
	net  bool           // the garbage collector watches it: it is the head of a netted
}

// closedMark makes uses negative and leaves room for the calls in flight.
const closedMark = math.MinInt32

// netted is a handle outside all scopes, freed at the latest by the garbage collector.
type netted struct {
	Handle
	cleanup runtime.Cleanup
}

var netLive, netMade atomic.Int64

// adopt takes over a reference that came through the door.
func adopt(impl, scope uint64) *Handle {
	if impl == 0 {
		return nil
	}
	if scope != 0 {
		return scopeAt(scope).add(uintptr(impl))
	}
	return newNetted(uintptr(impl))
}

//go:noinline
func newNetted(impl uintptr) *Handle {
	h := &netted{Handle: Handle{net: true}}
	h.impl.Store(impl)
	h.cleanup = runtime.AddCleanup(h, garbage.add, impl)
	netLive.Add(1)
	netMade.Add(1)
	trace(&h.Handle)
	return &h.Handle
}

// pin holds the object for the duration of a call; false if the handle is closed. A closed
// handle is never counted into: the count reaching closedMark means "last call out".
func (h *Handle) pin() bool {
	for {
		uses := h.uses.Load()
		if uses < 0 {
			return false
		}
		if h.uses.CompareAndSwap(uses, uses+1) {
			return true
		}
	}
}

// unpin ends a call's use. The last call out of a handle that was closed meanwhile
// gives the object back.
func (h *Handle) unpin() {
	if h.uses.Add(-1) == closedMark {
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

// take is the object of a handle that has just been closed and that no call uses: the one
// who closed it, or the last call out, gives it back.
func (h *Handle) take() uint64 {
	if h.net {
		(*netted)(unsafe.Pointer(h)).cleanup.Stop()
		netLive.Add(-1)
	}
	untrace(h)
	return uint64(h.impl.Load())
}

func (h *Handle) release() {
	freeWords([]uint64{0, h.take()})
}

// Closed tells whether the handle was closed.
func (h *Handle) Closed() bool { return h.uses.Load() < 0 }

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
}
