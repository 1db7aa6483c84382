package cgo

import (
	"iter"
	"sync"
	"sync/atomic"
)

// chunkSize is how many handles a scope allocates at a time: one small allocation that
// the collector need not scan.
const chunkSize = 64

// Scope owns the handles that its goroutine makes while it is open. The goroutine is
// locked to its OS thread for that time, and the shim sends the thread's scope home with
// every result: there is no lookup of "the current goroutine".
type Scope struct {
	id     uint64
	next   atomic.Uint64 // id of the next idle one, while it is idle itself
	parent *Scope
	outer  uint64        // the thread's scope before this one
	state  atomic.Uint64 // outer + 1 while it is open, for goroutines that only read
	made   int
	chunk  []Handle // being filled
	mu     sync.Mutex
	chunks [][]Handle
	words  []uint64 // scratch of leave, kept for the next use
}

// Open scopes by id. A page never moves, so reading takes no lock.
const pageSize, idBits = 1024, 20

var scopes struct {
	pages [pageSize]atomic.Pointer[[pageSize]Scope]
	last  atomic.Uint64 // id; they start at 1: 0 is "no scope"
	// The idle ones are a list. Its first has changes counted above its id, so that who was about to take it sees that it has been away.
	// With a mutex goroutines that are locked to their threads would pass it on from thread to thread, and each that waits takes one.
	idle atomic.Uint64
}

func scopeAt(id uint64) *Scope {
	return &scopes.pages[id/pageSize].Load()[id%pageSize]
}

// acquire takes an idle scope.
func acquire() *Scope {
	for {
		first := scopes.idle.Load()
		id := first % (1 << idBits)
		if id == 0 {
			return newScope()
		}
		if s := scopeAt(id); swapIdle(first, s.next.Load()) {
			return s
		}
	}
}

func newScope() *Scope {
	for {
		id := scopes.last.Load() + 1
		page := &scopes.pages[id/pageSize]
		if page.Load() == nil {
			page.CompareAndSwap(nil, new([pageSize]Scope))
		}
		if scopes.last.CompareAndSwap(id-1, id) {
			s := scopeAt(id)
			s.id = id
			return s
		}
	}
}

// release makes a scope idle.
func (s *Scope) release() {
	for {
		first := scopes.idle.Load()
		s.next.Store(first % (1 << idBits))
		if swapIdle(first, s.id) {
			return
		}
	}
}

func swapIdle(first, id uint64) bool {
	return scopes.idle.CompareAndSwap(first, (first>>idBits+1)<<idBits|id)
}

// EnterScope locks the goroutine to its thread and opens a scope on it.
func EnterScope() (*Scope, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	LockThread()
	s := acquire()
	s.outer = swapScope(s.id, 1)
	if s.outer != 0 {
		s.parent = scopeAt(s.outer)
	}
	s.state.Store(s.outer + 1)
	return s, nil
}

// Leave closes the scope and frees what is left in it, in one call.
func (s *Scope) Leave() {
	swapScope(s.outer, -1)
	s.state.Store(0)
	s.free()
	s.parent, s.outer, s.made = nil, 0, 0
	s.release()
	UnlockThread()
}

// Suspend leaves all scopes while fn runs: handles made there belong to the garbage
// collector.
func Suspend(fn func()) error {
	if err := Load(); err != nil {
		return err
	}
	LockThread()
	defer UnlockThread()
	outer := swapScope(0, 1)
	defer swapScope(outer, -1)
	fn()
	return nil
}

// swapScope makes id the thread's scope and returns the one before. entered is 1 if the
// goroutine locks itself to the thread with this call, -1 if it unlocks itself.
func swapScope(id uint64, entered int) uint64 {
	var c Call
	c.Begin(OpScope)
	c.put(id)
	c.Int(entered)
	c.ask()
	return c.frame.out[0]
}

// Made counts the handles made in the scope so far.
func (s *Scope) Made() int { return s.made }

// Parent is the scope around this one, or nil.
func (s *Scope) Parent() *Scope { return s.parent }

func (s *Scope) add(impl uintptr) *Handle {
	if len(s.chunk) == cap(s.chunk) {
		s.grow()
	}
	s.made++
	s.chunk = s.chunk[:len(s.chunk)+1]
	h := &s.chunk[len(s.chunk)-1]
	h.impl.Store(impl)
	trace(h)
	return h
}

//go:noinline
func (s *Scope) grow() {
	chunk := make([]Handle, chunkSize)
	s.mu.Lock()
	s.chunks = append(s.chunks, chunk)
	s.mu.Unlock()
	s.chunk = chunk[:0]
}

// free closes every handle that is still open. The unused rest of the last chunk serves
// the next scope; used handles are never handed out again, so a Tensor that outlived its
// scope finds a closed handle, not someone else's.
func (s *Scope) free() {
	words := append(s.words[:0], 0)
	for _, chunk := range s.chunks {
		for i := range chunk {
			h := &chunk[i]
			if h.impl.Load() == 0 {
				break // the rest was not handed out
			}
			if h.close() {
				words = append(words, h.take())
			}
		}
	}
	freeWords(words)
	const keep = 4096
	if cap(words) > keep {
		words = nil
	}
	s.words = words
	s.mu.Lock()
	clear(s.chunks)
	s.chunks = s.chunks[:0]
	if len(s.chunk) < cap(s.chunk) {
		rest := s.chunk[len(s.chunk):cap(s.chunk)]
		s.chunks = append(s.chunks, rest)
		s.chunk = rest[:0]
	} else {
		s.chunk = nil
	}
	s.mu.Unlock()
}

// handles lists the open handles of the scope. Any goroutine may call it.
func (s *Scope) handles() (list []*Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, chunk := range s.chunks {
		for i := range chunk {
			if h := &chunk[i]; h.impl.Load() != 0 && !h.Closed() {
				list = append(list, h)
			}
		}
	}
	return list
}

// ScopeUse is what one open scope holds.
type ScopeUse struct {
	ID, Outer uint64 // the scope around it, or 0
	Handles   int
	Bytes     int64 // of their storages, each counted once
}

// ScopesInUse lists the open scopes.
func ScopesInUse() (list []ScopeUse) {
	for s := range allScopes() {
		state := s.state.Load()
		if state == 0 {
			continue
		}
		use := ScopeUse{ID: s.id, Outer: state - 1}
		seen := map[uint64]bool{}
		for _, h := range s.handles() {
			storage, bytes := h.storage()
			if !seen[storage] {
				use.Bytes += bytes
				seen[storage] = true
			}
			use.Handles++
		}
		list = append(list, use)
	}
	return list
}

// allScopes are all that were ever made, open or idle.
func allScopes() iter.Seq[*Scope] {
	last := scopes.last.Load()
	return func(yield func(*Scope) bool) {
		for id := uint64(1); id <= last && yield(scopeAt(id)); id++ {
		}
	}
}

// Duplicate returns another handle to the same object, in the scope of the caller.
func (h *Handle) Duplicate() (*Handle, *Error) {
	var c Call
	if err := h.duplicate(&c); err != nil {
		return nil, err
	}
	return c.Handle(0), nil
}

// Keep returns another handle to the same object that belongs to no scope.
func (h *Handle) Keep() (*Handle, *Error) {
	var c Call
	if err := h.duplicate(&c); err != nil {
		return nil, err
	}
	return c.Unscoped(0), nil
}

// MoveOut returns another handle to the same object. It belongs to the scope around the
// innermost one, or to none if there is no such scope.
func (h *Handle) MoveOut() (*Handle, *Error) {
	var c Call
	if err := h.duplicate(&c); err != nil {
		return nil, err
	}
	if c.frame.scope == 0 {
		return c.Handle(0), nil
	}
	return adopt(c.frame.out[0], scopeAt(c.frame.scope).outer), nil
}

// duplicate makes the call whose result is another reference to the object. Who takes it is not passed along, so that the call stays on the
// caller's stack.
func (h *Handle) duplicate(c *Call) *Error {
	c.Begin(OpDup)
	c.Tensor(h)
	return c.Run()
}
