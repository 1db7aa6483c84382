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
