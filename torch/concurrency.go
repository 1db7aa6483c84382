package torch

import "github.com/libtorch-go/libtorch/cgo"

// SetConcurrency sets how many goroutines may be in heavy operations at a time (matrix products,
// convolutions, recurrent layers, Fourier transforms, decompositions, backward passes), and
// returns the number set before; 0, the default, stands for GOMAXPROCS. The others wait their turn
// as goroutines, without an OS thread. Each thread that computes starts helpers for its
// operations, so without a bound thousands of goroutines would start hundreds of threads.
//
// It bounds the whole process, [Lanes] included. A goroutine in a [Scope] or a mode keeps its
// OS thread while it waits, so the number of open scopes and modes is bounded as well: once 256
// are open, nested ones included (fewer on machines with many processors, but at least 64),
// goroutines wait before they enter an outermost one. If nobody leaves for a second, 64 more
// may enter, because the goroutines inside could be waiting for them. Lanes are better for many
// requests: they have a queue, and a caller can give up.
func SetConcurrency(n int) (before int) {
	if n < 0 {
		throw("concurrency", KindValue, "expected at least one goroutine, or 0 for as many as GOMAXPROCS, got %d", n)
	}
	return cgo.SetGate(n)
}

// ConcurrencyStats counts the goroutines in heavy operations and those that wait for
// one.
type ConcurrencyStats struct {
	Limit            int   // of [SetConcurrency]
	Running, Waiting int64 // goroutines at this moment
	Waited           int64 // operations that had to wait
	Open, Outside    int64 // open scopes and modes; goroutines that wait to enter one
}

// Concurrency returns the counts of this moment.
func Concurrency() (s ConcurrencyStats) {
	s.Limit, s.Running, s.Waiting, s.Waited = cgo.GateStats()
	s.Open, s.Outside = cgo.Locked()
	return s
}
