package cgo

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A goroutine in a scope or a mode is locked to an OS thread, also while it waits in the
// gate, and Go ends a process with ten thousand threads. So many scopes and modes may be
// entered as do no harm; who comes later waits before it has a thread.
//
// The wait is no promise, because those inside may be waiting for the one outside: where
// nobody has left for a while, some more are let in.
const (
	mostLocked = 256 // scopes and modes, those inside of others too
	intoAStall = 64
)

var stall = time.Second // longer in tests

var locked struct {
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
	if open > mostLocked && mayWait() {
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

// mayWait is false for a goroutine that has its thread already, and inside of Go functions
// that libtorch calls: the call which led there has one.
func mayWait() bool {
	if Load() != nil {
		return false
	}
	var c Call
	c.Begin(OpThreadHeld)
	door(c.op, &c.words[0], &c.frame)
	return !c.BoolResult(0) && gate.callbacks.Load() == 0
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
	for len(locked.queue) > 0 && (more > 0 || locked.open.Load() < mostLocked) {
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
