//go:build race

package cgo

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Racing tells whether the race detector is told who uses a tensor.
const Racing = true

// The race detector knows only Go's memory, so a call tells it by way of words there what it reads and
// writes. There are two sorts of them.
//
// A handle has a word: a call that changes the tensor itself (its gradient, its memory, its shape)
// writes there, all others read.
//
// A storage has a copy of its memory in small, a byte for each of its bytes, or for each block of them
// where it is larger than 64 KiB: the largest has 65,536 blocks. A call reads or writes there what its
// arguments cover, so that views of one storage meet where they overlap and nowhere else. Three
// things pass unseen: a block of which a view covers a part, as in columns of a large matrix; a view of
// more than 16,384 separate runs; and what an operator reads that makes a view where it can
// (Reshape, Contiguous, To). The copy lives as long as a handle of the storage is open that was
// used: what was done before is forgotten with it. Nothing is known of what runs inside of a call:
// the backward pass for example. Go's detector takes every call into C for a synchronisation, so that two
// goroutines are reported where their calls overlap or nearly do, not where one made its long after the other.
type watch struct {
	place  uint64 // the detector remembers a few accesses to each eight bytes
	shadow *shadow
}

// shadow is the copy of a storage's memory.
type shadow struct {
	id    uint64
	refs  int
	block uint64 // bytes of the storage for each byte of words
	words []byte
	next  *shadow
}

const (
	mostBlocks = 1 << 16
	mostRuns   = 1 << 14
)

// shadows are those of the storages in use. Finding one orders no goroutines for the detector, and
// the detector does not look at this list.
var shadows struct {
	mu    sync.Mutex
	lists [4096]*shadow
}

// elements reports a call that looks at the elements of its arguments.
func (op Op) elements() bool {
	if op < opsByHand {
		return op == OpToBytes || op == OpItem || op == OpOverwrite || op == OpReadFile
	}
	return !op.view()
}

func (h *Handle) watchRead(op Op) {
	runtime.RaceRead(unsafe.Pointer(&h.watch.place))
	if op.elements() {
		h.touch(runtime.RaceReadRange)
	}
}

// watchWrite: a part that is written to by its indices is no change of the tensor around it.
func (h *Handle) watchWrite(op Op) {
	if op == OpSetIndex {
		return
	}
	runtime.RaceWrite(unsafe.Pointer(&h.watch.place))
	if op.elements() {
		h.touch(runtime.RaceWriteRange)
	}
}

// Wrote tells the race detector, if there is one, that the elements of a tensor were written to.
func Wrote(h *Handle) {
	if h.pin() {
		h.touch(runtime.RaceWriteRange)
		h.unpin()
	}
}

// touch calls mark for the words of all elements. The handle is pinned.
func (h *Handle) touch(mark func(addr unsafe.Pointer, n int)) {
	if h.kind != TensorKind {
		return
	}
	var c Call
	c.Begin(OpMemory)
	c.put(uint64(h.impl.Load()))
	unseen() // to the detector, calls into C order the goroutines that make them
	c.ask()
	seen()
	if c.frame.kind != 0 {
		return
	}
	id, bytes, first, item := c.frame.out[0], c.frame.out[1], c.frame.out[2], c.frame.out[3]
	unseen()
	layout := c.Words(4)
	seen()
	if id == 0 || bytes == 0 {
		return
	}
	s := h.shadowOf(id, bytes)
	n := len(layout) / 2
	run, outer := runs(layout[:n], layout[n:], item)
	walkRuns(first, outer, func(start uint64) {
		low, high := (start+s.block-1)/s.block, (start+run)/s.block
		if start+run == bytes {
			high = (bytes + s.block - 1) / s.block
		}
		if low < high && high <= uint64(len(s.words)) {
			mark(unsafe.Pointer(&s.words[low]), int(high-low))
		}
	})
}

// axis is a dimension between whose elements there are others.
type axis struct{ size, step uint64 }

// runs says how many bytes lie in a row, and how these rows lie. There are none for a tensor without
// elements and for one with too many rows.
func runs(sizes, strides []uint64, item uint64) (run uint64, outer []axis) {
	var axes []axis
	for i, size := range sizes {
		if size == 0 {
			return 0, []axis{{0, 0}}
		}
		if size > 1 && strides[i] != 0 {
			axes = append(axes, axis{size, strides[i] * item})
		}
	}
	slices.SortFunc(axes, func(a, b axis) int { return cmp.Compare(a.step, b.step) })
	run = item
	for len(axes) > 0 && axes[0].step <= run {
		run = axes[0].step*(axes[0].size-1) + run
		axes = axes[1:]
	}
	rows := uint64(1)
	for _, a := range axes {
		if rows *= a.size; rows > mostRuns || a.size > mostRuns {
			return 0, []axis{{0, 0}}
		}
	}
	return run, axes
}

func walkRuns(start uint64, outer []axis, visit func(start uint64)) {
	if len(outer) == 0 {
		visit(start)
		return
	}
	last := outer[len(outer)-1]
	for i := range last.size {
		walkRuns(start+i*last.step, outer[:len(outer)-1], visit)
	}
}

// shadowOf finds the words of a storage and lends them to h.
//
//go:norace
func (h *Handle) shadowOf(id, bytes uint64) *shadow {
	unseen()
	shadows.mu.Lock()
	defer seen()
	defer shadows.mu.Unlock()
	if s := h.watch.shadow; s != nil {
		if s.id == id {
			return s
		}
		h.drop()
	}
	list := &shadows.lists[id/64%uint64(len(shadows.lists))]
	s := *list
	for s != nil && s.id != id {
		s = s.next
	}
	if s == nil {
		block := uint64(1)
		for bytes/block > mostBlocks {
			block *= 2
		}
		s = &shadow{id: id, block: block, words: make([]byte, (bytes+block-1)/block), next: *list}
		*list = s
	}
	s.refs++
	h.watch.shadow = s
	return s
}

// unwatch ends the loan of a handle that is being closed.
//
//go:norace
func (h *Handle) unwatch() {
	unseen()
	shadows.mu.Lock()
	if h.watch.shadow != nil {
		h.drop()
	}
	shadows.mu.Unlock()
	seen()
}

//go:norace
func (h *Handle) drop() {
	s := h.watch.shadow
	h.watch.shadow = nil
	if s.refs--; s.refs > 0 {
		return
	}
	at := &shadows.lists[s.id/64%uint64(len(shadows.lists))]
	for *at != s {
		at = &(*at).next
	}
	*at = s.next
}

// Between unseen and seen, atomics do not order goroutines for the detector: two
// goroutines that count one handle up and down are not synchronised by that.
func unseen() { runtime.RaceDisable() }
func seen()   { runtime.RaceEnable() }

func unseenAdd(n *atomic.Int32, by int32) int32 {
	unseen()
	defer seen()
	return n.Add(by)
}
