package cgo

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A goroutine in a scope or a mode is locked to an OS thread, even while it waits in the
// gate, and each thread that computes keeps its helpers. Go ends a process that has ten
// thousand threads, and OpenMP ends it when the system refuses another thread. So the number
// of open scopes and modes is limited; further goroutines wait before they get a thread.
//
// The limit is not strict, because the goroutines inside may be waiting for one outside:
// if nobody has left for a while, some more are admitted.
const (
	mostLocked  = 256  // scopes and modes, nested ones included
	leastLocked = 64   // even if mostThreads would allow fewer
	mostThreads = 1024 // threads and their helpers together
	intoAStall  = 64
)

var stall = time.Second // longer in tests

var locked struct {
	most    atomic.Int64 // the limit, computed from the number of helpers when it was last read
	open    atomic.Int64
	waiting atomic.Int64
	mu      sync.Mutex
	queue   []chan struct{}
	moved   bool // a goroutine was admitted since the timer was set
	timer   *time.Timer
}

// LockThread locks the goroutine to its OS thread for a scope or a mode. Each call must
// be followed by a call of UnlockThread.
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

// Locked counts the open scopes and modes, and the goroutines that wait to enter one.
func Locked() (open, waiting int64) { return locked.open.Load(), locked.waiting.Load() }

// OwnThread locks the goroutine to its OS thread, in no scope, until release is called. Scopes
// and modes on that thread do not wait, because they need no further thread.
func OwnThread() (release func()) {
	runtime.LockOSThread()
	if Load() != nil {
		return runtime.UnlockOSThread
	}
	outer := swapScope(0, 1)
	return func() {
		swapScope(outer, -1)
		runtime.UnlockOSThread()
	}
}

// InLane is OwnThread for a thread that computes for others: an operation on it may use n threads, until leave is called.
func InLane(n int) (leave func()) {
	runtime.LockOSThread()
	if Load() != nil {
		return runtime.UnlockOSThread
	}
	scope, before := swapLane(0, 1, n)
	return func() {
		swapLane(scope, -1, before)
		runtime.UnlockOSThread()
	}
}

func swapLane(id uint64, entered, n int) (scope uint64, before int) {
	var c Call
	c.Begin(OpLane)
	c.put(id)
	c.Int(entered)
	c.Int(n)
	c.ask()
	return c.frame.out[0], int(c.frame.out[1])
}

// Held tells whether the goroutine is locked to its thread by a scope or a mode; it is true where libtorch is not there.
func Held() bool { return Load() != nil || answer(OpThreadHeld) != 0 }

// crowded tells whether the goroutine has to wait. A goroutine that already has its thread
// does not wait, and neither does a Go function that libtorch calls, because the call that led
// there has a thread.
func crowded(open int64) bool {
	if gate.callbacks.Load() > 0 || Held() {
		return false
	}
	most := min(mostLocked, max(leastLocked, mostThreads/max(1, answer(OpGetThreads)))) // every thread may start that many helpers
	locked.most.Store(most)
	return open > most
}

// awaitThread undoes the count of LockThread, waits for a place and returns when the place
// has been counted.
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

// letIn admits as many goroutines as there is room for, and more extra ones. The caller
// holds the lock.
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

// endStall admits some goroutines if nobody was admitted since the last time.
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
