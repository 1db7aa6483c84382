package cgo

import (
	"iter"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/libtorch-go/libtorch/internal/frames"
)

// Contain runs fn and lets neither a panic nor a Goexit get past: behind it may be frames of
// C++, which Go would drop without running their destructors. Nothing but a goroutine's end
// stops a Goexit, so fn runs in one of its own, a coroutine, which stays on the thread. For a
// callback of C++ the call of Go's that led here repeats the Goexit where it was made.
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
// [Contain]. Whoever calls a function of the user's from there may be switched away from in the
// midst of it, and Go ends the process where a coroutine that has locked itself to its thread is.
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
