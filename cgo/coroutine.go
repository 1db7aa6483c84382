package cgo

import (
	"iter"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/libtorch-go/libtorch/internal/frames"
)

// Contain runs fn and stops panics and Goexits. The frames above it may belong to C++, and Go
// would drop them without running their destructors. Only the end of a goroutine stops a
// Goexit, so fn runs in a coroutine, which stays on the same thread. For a callback of C++
// the Go call that led here repeats the Goexit.
func Contain(fn func()) (failed *CallbackPanic) {
	next, _ := iter.Pull(func(func(struct{}) bool) {
		ended := false
		defer func() {
			v := recover()
			switch {
			case v != nil:
				failed = &CallbackPanic{Value: v, Stack: debug.Stack(), Callers: frames.Callers(0)}
			case !ended:
				failed = &CallbackPanic{Value: "it ended its goroutine", Exit: true}
				panic(failed) // in place of the Goexit that Pull would hand on
			}
		}()
		fn()
		ended = true
	})
	defer func() { _ = recover() }() // that one
	next()
	return failed
}

// Pulled tells whether the goroutine is a coroutine that [iter.Pull] made, other than those of
// [Contain]. Such a coroutine may be switched away from in the middle of a call of a user's
// function, and if it has locked itself to its thread by then, Go ends the process.
func Pulled() bool {
	const base = 4 // what runs in the coroutine, then Pull's function, then two of the runtime
	stack := make([]uintptr, 64)
	n := runtime.Callers(0, stack)
	for ; n == len(stack); n = runtime.Callers(0, stack) {
		stack = make([]uintptr, 2*len(stack))
	}
	pulled := false
	bottom := runtime.CallersFrames(stack[max(0, n-base):n])
	for more := true; more; {
		var f runtime.Frame
		f, more = bottom.Next()
		if strings.Contains(f.Function, "/cgo.Contain.") {
			return false
		}
		pulled = pulled || f.Function == "runtime.corostart" || strings.HasPrefix(f.Function, "iter.Pull")
	}
	return pulled
}
