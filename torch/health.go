package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// Unhealthy is the first failure of a card that this process cannot recover from: an
// assertion or an illegal access in a kernel, an uncorrectable memory error. From then on
// CUDA fails every call with it. A service should report itself as not ready and have
// itself restarted. While there was no such failure the result is nil, and asking costs
// next to nothing.
//
//	if err := torch.Unhealthy(); err != nil {
//		http.Error(w, err.Error(), http.StatusServiceUnavailable)
//	}
func Unhealthy() error {
	if e := cgo.Unhealthy(); e != nil {
		return newError(e)
	}
	return nil
}

// ErrShutdown is the error of operations after [Shutdown], as an [Error] of
// KindLibrary.
var ErrShutdown = cgo.ErrShutdown

// Shutdown ends the use of libtorch in this process: it frees what nobody refers to, waits
// until the cards have done what was submitted to them, and delivers the warnings that are
// left. It is for programs that go on afterwards, and for libraries in such programs; a
// program that exits does not need it. Before the call, goroutines that compute should have
// ended and lanes should be closed.
//
// Later operations fail with [ErrShutdown]; Close still frees. Shutdown returns the error
// of a card that could not finish its work. A second Shutdown does nothing.
func Shutdown() error {
	if e := cgo.Shutdown(); e != nil {
		return newError(e)
	}
	return nil
}

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
