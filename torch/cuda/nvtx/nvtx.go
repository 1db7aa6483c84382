package nvtx

import (
	"runtime"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
)

// Range runs fn as a named range. The goroutine keeps its thread for that time: ranges
// belong to threads.
func Range(name string, fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	RangePush(name)
	defer RangePop()
	fn()
}

// RangePush begins a range on this goroutine's thread; ranges nest. It is for goroutines that
// keep their thread, for example in a torch.Scope: other goroutines may be on another thread
// when they call [RangePop].
func RangePush(name string) { run(cgo.OpNvtxPush, name) }

// RangePop ends the range that was begun last on this goroutine's thread.
func RangePop() { run(cgo.OpNvtxPop, "") }

// Mark names a moment.
func Mark(name string) { run(cgo.OpNvtxMark, name) }

func run(op cgo.Op, name string) {
	if cgo.CUDAError() != nil {
		return // no tool listens
	}
	var c cgo.Call
	c.Begin(op)
	c.Str(name)
	bridge.Done(&c)
}
