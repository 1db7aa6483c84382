package cgo

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A goroutine in a scope or a mode is locked to an OS thread, also while it waits in the
// gate, and each thread that computes keeps its helpers. Go ends a process with ten thousand
// threads, and so does OpenMP where the system gives it no more. So many scopes and modes may
// be entered as do no harm; who comes later waits before it has a thread.
//
// The wait is no promise, because those inside may be waiting for the one outside: where
// nobody has left for a while, some more are let in.
const (
	mostLocked  = 256  // scopes and modes, those inside of others too
	leastLocked = 64   // whatever the next says
	mostThreads = 1024 // of them, with their helpers, where each has its own
	intoAStall  = 64
)

var stall = time.Second // longer in tests

var locked struct {
	most    atomic.Int64 // as the number of helpers was when it was last looked at
	open    atomic.Int64
	waiting atomic.Int64
	mu      sync.Mutex
	queue   []chan struct{}
	moved   bool // somebody was let in since the timer was set
	timer   *time.Timer
}

// LockThread locks the goroutine to its OS thread for a scope or a mode. Every call needs
// one of UnlockThread.
func LockThread() {
	unseen()
	open := locked.open.Add(1)
	seen()
	if open > leastLocked && crowded(open) {
		awaitThread()
	}
	runtime.LockOSThread()
}

// UnlockThread undoes one LockThread.
func UnlockThread() {
	runtime.UnlockOSThread()
	unseen()
	locked.open.Add(-1)
	waiting := locked.waiting.Load()
	seen()
	if waiting > 0 {
		locked.mu.Lock()
		letIn(0)
		locked.mu.Unlock()
	}
}

// Locked are the scopes and modes that goroutines are in, and the goroutines that wait to enter
// one.
func Locked() (open, waiting int64) { return locked.open.Load(), locked.waiting.Load() }

// OwnThread locks the goroutine to its OS thread until release is called. Scopes and modes
// on it do not wait: the thread is there in any case.
func OwnThread() (release func()) {
	runtime.LockOSThread()
	if Load() != nil {
		return runtime.UnlockOSThread
	}
	swapScope(0, 1)
	return func() {
		swapScope(0, -1)
		runtime.UnlockOSThread()
	}
}

// crowded tells whether the goroutine has to wait. It has not where it has its thread already,
// nor inside of Go functions that libtorch calls: the call which led there has one.
func crowded(open int64) bool {
	if gate.callbacks.Load() > 0 || Load() != nil || answer(OpThreadHeld) != 0 {
		return false
	}
	most := min(mostLocked, max(leastLocked, mostThreads/max(1, answer(OpGetThreads)))) // a lane would have helpers of its own
	locked.most.Store(most)
	return open > most
}

// answer is that of an entry that takes nothing and answers with a number.
func answer(op Op) int64 {
	var c Call
	c.Begin(op)
	c.ask()
	return int64(c.frame.out[0])
}

// awaitThread gives back what LockThread counted, and returns when it has been counted again.
func awaitThread() {
	turn := make(chan struct{})
	locked.mu.Lock()
	locked.waiting.Add(1)
	locked.open.Add(-1)
	locked.queue = append(locked.queue, turn)
	letIn(0)
	if len(locked.queue) > 0 && locked.timer == nil {
		locked.moved, locked.timer = false, time.AfterFunc(stall, endStall)
	}
	locked.mu.Unlock()
	<-turn
}

// letIn lets in whom there is room for, and so many more. The lock is held.
func letIn(more int) {
	for len(locked.queue) > 0 && (more > 0 || locked.open.Load() < locked.most.Load()) {
		close(locked.queue[0])
		locked.queue = locked.queue[1:]
		locked.open.Add(1)
		locked.waiting.Add(-1)
		locked.moved = true
		more--
	}
	if len(locked.queue) == 0 && locked.timer != nil {
		locked.timer.Stop()
		locked.timer = nil
	}
}

// endStall lets some in where nobody was since the last time.
func endStall() {
	locked.mu.Lock()
	defer locked.mu.Unlock()
	if !locked.moved {
		letIn(intoAStall)
	}
	locked.moved = false
	if locked.timer != nil {
		locked.timer.Reset(stall)
	}
}
