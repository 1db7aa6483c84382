package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// Unhealthy is the first failure of a card that this process cannot recover from: an
// assertion or an illegal access in a kernel, an uncorrectable memory error. CUDA answers
// everything with it from then on. A service reports itself as not ready and has itself
// started anew. It is nil, and costs next to nothing, while all is well.
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

// ErrShutdown is what calls after [Shutdown] fail with, as an [Error] of KindLibrary.
var ErrShutdown = cgo.ErrShutdown

// Shutdown ends the use of libtorch in this process: it frees what nobody refers to, waits
// until the cards have done what was submitted to them, and delivers the warnings that
// are left. It is for programs that go on afterwards, or are a library in one: Go's own exit
// needs none of it. Goroutines that compute should have ended, and lanes been closed.
//
// Later operations fail with [ErrShutdown]; Close still frees. The error is that of a card
// that could not finish its work. A second Shutdown does nothing.
func Shutdown() error {
	if e := cgo.Shutdown(); e != nil {
		return newError(e)
	}
	return nil
}

// SetConcurrency sets how many goroutines may be in heavy operations at a time (matrix
// products, convolutions, recurrent layers, Fourier transforms, decompositions, backward
// passes), and returns what was set before; 0, the default, stands for GOMAXPROCS. The others
// wait their turn as goroutines, without an OS thread. Each thread that computes grows helpers for
// its operations, so that thousands of goroutines would otherwise make hundreds of threads.
//
// It bounds the whole process, [Lanes] too. A goroutine in a [Scope] or a mode keeps its OS
// thread while it waits, so there is a bound to these as well: once 256 are open, those inside
// of others counted (fewer on machines with many processors, but 64), goroutines wait before
// they enter an outermost one. Where none is left for a second, 64 more may enter, because they
// could be what those inside are waiting for. Many requests are better held by lanes, which
// have a queue and can be given up.
func SetConcurrency(n int) (before int) {
	if n < 0 {
		throw("concurrency", KindValue, "expected at least one goroutine, or 0 for as many as GOMAXPROCS, got %d", n)
	}
	return cgo.SetGate(n)
}

// ConcurrencyStats says how goroutines come by heavy operations.
type ConcurrencyStats struct {
	Limit            int   // of [SetConcurrency]
	Running, Waiting int64 // goroutines at this moment
	Waited           int64 // operations that had to wait
	Open, Outside    int64 // scopes and modes that are open, goroutines that wait to enter one
}

// Concurrency tells about this moment.
func Concurrency() (s ConcurrencyStats) {
	s.Limit, s.Running, s.Waiting, s.Waited = cgo.GateStats()
	s.Open, s.Outside = cgo.Locked()
	return s
}
