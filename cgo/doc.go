// Package cgo is the room where Go meets C++: the only package of the module that
// imports "C". It is internal in spirit: its API follows the needs of package torch
// and changes with them.
//
// # The door
//
// Every operator of libtorch goes through one C function. A [Call] on the caller's
// stack packs the arguments into 64-bit words, [Call.Run] passes them through the
// door, and the results, the error and the calling thread's scope come back in the
// same call. There is no second call that asks "what went wrong": goroutines change
// threads between calls.
//
//	var c cgo.Call
//	c.Begin(cgo.OpAddTensor)
//	c.Tensor(x)
//	c.Tensor(y)
//	c.ScalarInt(1)
//	if err := c.Run(); err != nil { … }
//	sum := c.Handle(0)
//
// The words hold no Go pointers, so the stack may move at any time and the checks of
// cgo have nothing to look at; the C function neither keeps its arguments nor calls
// back into Go, which lets the compiler leave the whole Call on the stack.
//
// # Two halves
//
// One half carries calls over: the door (door.go), calls and their words (call.go, results.go, boxed.go,
// scalar.go), handles and scopes, the way back into Go (callback.go), loading (load.go), errors and
// warnings. The other half, the files process_*.go, is what a process with many goroutines needs: a
// gate before heavy calls, a queue for those that want an OS thread of their own, collecting
// when memory runs short, giving memory back, and health. The first half calls the second at
// few places: [Call.Run] passes the gate and looks at the mark of memory, a new handle outside
// scopes is counted, and an error is remembered if the process cannot recover from it.
//
// # Handles
//
// A [Handle] owns one reference to a C++ object (a tensor, a generator). It is pinned
// while a call uses it, so closing it from another goroutine never frees memory under
// a running kernel; whoever comes later gets an error. A handle belongs to the [Scope]
// of the goroutine that made it, if there is one, and dies with it; else the garbage
// collector frees it some time after the last use.
//
// # Loading
//
// Nothing is linked. [Load] opens libtorch and the shim with dlopen on first use and
// says, when it fails, where it looked and what to do. See load.go for the order.
//
// # Who may import it
//
// torch and the packages below it. Programs use package torch.
//
// # Adding an operator
//
// All operators of libtorch's schema are generated: rerun go run ./cgo/gen. An entry
// written by hand needs a line in shim/entries.def, a function in a file of shim, and
// again the generator for its number.
package cgo
