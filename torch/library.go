package torch

import (
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
)

// Load opens libtorch. The first operation does so by itself and panics if it fails; a
// program that wants to report the failure calls Load first. The error names the paths
// that were tried and what to run.
func Load() error { return cgo.Load() }

// Version is the version of libtorch: "2.11.0".
func Version() string { return text(cgo.OpTorchVersion) }

// Config describes how libtorch was built and how its threads are set up.
func Config() string { return text(cgo.OpShowConfig) }

// Operators lists every operator that libtorch's dispatcher knows, as "aten::add.Tensor",
// those of libraries loaded later included.
func Operators() []string { return strings.Fields(text(cgo.OpListOperators)) }

func text(op cgo.Op) string {
	var c cgo.Call
	c.Begin(op)
	done(&c)
	return c.Text(0)
}

// OnWarning sets the function that receives warnings: libtorch's, whose advice is given in Go's
// names, and those of PyTorch's layers, losses and schedules, in PyTorch's words. The default logs
// each text once, by slog; nil restores it. fn may be called from any goroutine, in the middle of
// an operation: it may compute, but must not panic.
func OnWarning(fn func(text string)) { cgo.OnWarning(fn) }

// Warn passes a warning to the function that [OnWarning] set. It is for packages that
// extend this one.
func Warn(format string, args ...any) { cgo.Warn(fmt.Sprintf(format, args...)) }

// SetNumThreads sets how many threads one operation on the CPU may use. It holds for all
// goroutines from their next operation on.
func SetNumThreads(n int) {
	const most = 4096 // OpenMP ends the process if the system refuses a thread
	if n > most {
		throw("set_threads", KindValue, "expected at most %d threads, got %d", most, n)
	}
	var c cgo.Call
	c.Begin(cgo.OpSetThreads)
	c.Int(n)
	done(&c)
}

// NumThreads is how many threads one operation on the CPU may use.
func NumThreads() int {
	var c cgo.Call
	c.Begin(cgo.OpGetThreads)
	return resultInt(&c)
}

// SetNumInteropThreads sets the size of the pool that TorchScript forks into. It can be
// set once, before the first use.
func SetNumInteropThreads(n int) {
	var c cgo.Call
	c.Begin(cgo.OpSetInteropThreads)
	c.Int(n)
	done(&c)
}

// NumInteropThreads is the size of the pool that TorchScript forks into.
func NumInteropThreads() int {
	var c cgo.Call
	c.Begin(cgo.OpGetInteropThreads)
	return resultInt(&c)
}
