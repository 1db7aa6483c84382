package cgo

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A goroutine in a long call holds an OS thread, and Go starts another for those that
// wait: a thousand goroutines in matrix products would be a thousand threads, each with
// OpenMP helpers of its own. The gate lets so many into heavy calls as there is work for;
// the others wait as goroutines do, without a thread.
var gate struct {
	permits          atomic.Pointer[permits] // nil until the first heavy call
	running, waiting atomic.Int64
	waited           atomic.Int64
}

type permits struct {
	*semaphore.Weighted
	n int
}

// SetGate sets how many goroutines may be in heavy calls at a time, and returns how many
// might before. Those inside stay; n < 1 means GOMAXPROCS.
func SetGate(n int) (before int) {
	if n < 1 {
		n = runtime.GOMAXPROCS(0)
	}
	return gateOf(gate.permits.Swap(&permits{semaphore.NewWeighted(int64(n)), n}))
}

func gateOf(p *permits) int {
	if p == nil {
		return runtime.GOMAXPROCS(0)
	}
	return p.n
}

// GateStats are the goroutines that may be in heavy calls, that are, that wait, and how
// many calls have had to wait.
func GateStats() (most int, running, waiting, waited int64) {
	return gateOf(gate.permits.Load()), gate.running.Load(), gate.waiting.Load(), gate.waited.Load()
}

// admit waits for a place in the gate, and returns where to give it back.
func admit() *permits {
	p := gate.permits.Load()
	for p == nil {
		gate.permits.CompareAndSwap(nil, &permits{semaphore.NewWeighted(int64(gateOf(nil))), gateOf(nil)})
		p = gate.permits.Load()
	}
	if !p.TryAcquire(1) {
		gate.waited.Add(1)
		gate.waiting.Add(1)
		_ = p.Acquire(context.Background(), 1) // fails with its context only
		gate.waiting.Add(-1)
	}
	gate.running.Add(1)
	return p
}

func (p *permits) leave() {
	gate.running.Add(-1)
	p.Release(1)
}
