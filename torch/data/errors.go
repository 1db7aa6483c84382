package data

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/libtorch-go/libtorch/torch"
)

// Error says which batch of an epoch could not be made.
type Error struct {
	Epoch, Batch int
	Index        int // of the sample that failed; -1 if it was the batch as a whole
	Worker       int // which worker was at it, from 1 on; 0 for the loop itself
	Err          error
}

// Error is one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("data: epoch %d, batch %d", e.Epoch, e.Batch)
	if e.Index >= 0 {
		text += fmt.Sprintf(", sample %d", e.Index)
	}
	if e.Worker > 0 {
		text += fmt.Sprintf(" (worker %d)", e.Worker)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// PanicError is a panic in a data set that has become an error.
type PanicError struct {
	Value any    // what the panic was called with
	Stack []byte // where
}

// Error is the value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errExit is what becomes of a worker that ends in runtime.Goexit, as a failing test does.
var errExit = errors.New("the data set ended its goroutine")

// guard runs fn and turns a panic in it into an error: a *[torch.Error] as it is, all
// others as a *[PanicError].
func guard(fn func() error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *torch.Error:
			err = value
		default:
			err = &PanicError{value, debug.Stack()}
		}
	}()
	return fn()
}
