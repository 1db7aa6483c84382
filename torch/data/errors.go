package data

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
)

// Error says which batch of an epoch could not be made.
type Error struct {
	Epoch, Batch int
	Index        int // of the sample that failed; -1 if it was the batch as a whole
	Worker       int // the worker that made it, from 1 on; 0 for the loop itself
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

// PanicError is a panic in a data set, as an error.
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

// errExit is the error of a data set that calls runtime.Goexit, as a failing test does.
var errExit = errors.New("the data set ended its goroutine")

// guard runs fn and turns what ends it into an error: a panic with a *[torch.Error] into that,
// all others into a *[PanicError], and a Goexit into errExit.
func guard(fn func() error) (err error) {
	failed := cgo.Contain(func() { err = fn() })
	switch {
	case failed == nil:
		return err
	case failed.Exit:
		return errExit
	}
	if known, ok := failed.Value.(*torch.Error); ok {
		return known
	}
	return &PanicError{failed.Value, failed.Stack}
}

// atLeast and between refuse a number that an option, a length or a sampler cannot have.
func atLeast[N ~int | ~int64](name string, n, least N) error {
	if n < least {
		return fmt.Errorf("%s is %v, expected at least %v", name, n, least)
	}
	return nil
}

func between(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s is %d, expected %d to %d", name, n, least, most)
	}
	return nil
}

// need panics with a *[torch.Error] if err is not nil. It is for functions that make a
// sampler.
func need(op string, err error) {
	if err != nil {
		torch.Throw(op, torch.KindValue, "%v", err)
	}
}

// afford panics with libtorch's error if the machine has no memory for a list of n indices
// and its copies. Without it Go would end the process.
func afford(n int) {
	const small, copies = 1 << 20, 4
	if n > small {
		torch.TensorOptions{DType: torch.Int64}.Empty(n, copies).Close()
	}
}
