package cgo

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A goroutine in a long call holds an OS thread, and Go starts another thread for those
// that wait: a thousand goroutines in matrix products would be a thousand threads, each
// with its own OpenMP helpers. The gate admits as many heavy calls as there are
// processors; the others wait as goroutines, without a thread.
var gate struct {
	permits   atomic.Pointer[permits] // nil until the first heavy call
	waiting   atomic.Int64
	waited    atomic.Int64
	callbacks atomic.Int64 // Go functions that libtorch is running
}

// permits are the places of the gate. A call of a few numbers is as heavy to the gate as a large one: where there is a place,
// entering and leaving are one addition each.
type permits struct {
	free  atomic.Int64        // places; below zero, so many have come to wait
	queue *semaphore.Weighted // has nothing to give but the places of those that leave
	n     int
	auto  bool // n is GOMAXPROCS
}

func newPermits(n int) *permits {
	auto := n < 1
	if auto {
		n = runtime.GOMAXPROCS(0)
	}
	p := &permits{queue: semaphore.NewWeighted(math.MaxInt64), n: n, auto: auto}
	p.queue.TryAcquire(math.MaxInt64)
	p.free.Store(int64(n))
	return p
}

// SetGate sets how many goroutines may be in heavy calls at a time and returns the
// number set before; 0 stands for GOMAXPROCS. Goroutines inside stay; n < 1 means
// GOMAXPROCS.
func SetGate(n int) (before int) {
	if p := gate.permits.Swap(newPermits(n)); p != nil && !p.auto {
		before = p.n
	}
	return before
}

// GateStats returns how many goroutines may be in heavy calls, how many are (those that came in before SetGate are not counted), how
// many wait, and how many calls had to wait so far.
func GateStats() (most int, running, waiting, waited int64) {
	p := currentPermits()
	return p.n, int64(p.n) - max(p.free.Load(), 0), gate.waiting.Load(), gate.waited.Load()
}

func currentPermits() *permits {
	p := gate.permits.Load()
	for p == nil {
		gate.permits.CompareAndSwap(nil, newPermits(0))
		p = gate.permits.Load()
	}
	return p
}

// admit waits for a place in the gate and returns where to give it back. It does not wait
// while libtorch runs a Go function: the caller may be in that function, and the call that
// led there may hold the place.
func admit() *permits {
	p := currentPermits()
	for free := p.free.Load(); free > 0; free = p.free.Load() {
		if p.free.CompareAndSwap(free, free-1) {
			return p
		}
	}
	if gate.callbacks.Load() > 0 {
		return nil
	}
	return p.wait()
}

// wait waits for a place, in new permits if GOMAXPROCS has changed meanwhile.
func (p *permits) wait() *permits {
	if p.auto && p.n != runtime.GOMAXPROCS(0) {
		gate.permits.CompareAndSwap(p, newPermits(0))
		p = currentPermits()
	}
	gate.waited.Add(1)
	gate.waiting.Add(1)
	if p.free.Add(-1) < 0 {
		_ = p.queue.Acquire(context.Background(), 1) // fails with its context only
	}
	gate.waiting.Add(-1)
	return p
}

func (p *permits) leave() {
	if p != nil && p.free.Add(1) <= 0 {
		p.queue.Release(1)
	}
}
