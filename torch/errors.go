package torch

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/frames"
)

// Kind says what sort of failure an [Error] is.
type Kind = cgo.Kind

// The kinds of failure.
var (
	KindGeneric        = cgo.KindGeneric        // shapes that do not fit and other broken preconditions
	KindOutOfMemory    = cgo.KindOutOfMemory    // host or device memory is exhausted
	KindAccelerator    = cgo.KindAccelerator    // the device runtime failed; see Error.Code
	KindIndex          = cgo.KindIndex          // an index or a dimension out of range
	KindValue          = cgo.KindValue          // a value that is not allowed
	KindType           = cgo.KindType           // a dtype or a kind of argument that is not allowed
	KindNotImplemented = cgo.KindNotImplemented // no kernel for this dtype, device or version
	KindLinAlg         = cgo.KindLinAlg         // a matrix without the property it needs
	KindDist           = cgo.KindDist           // distributed communication failed
	KindClosed         = cgo.KindClosed         // a tensor was used after Close or after its Scope
	KindLibrary        = cgo.KindLibrary        // libtorch could not be loaded
	KindNoCUDA         = cgo.KindNoCUDA         // a CUDA device was asked for where there is none
	KindCallback       = cgo.KindCallback       // a Go function that libtorch called failed; see Error.Cause
)

// Sentinels for errors.Is: each matches every *[Error] of its kind.
var (
	ErrOutOfMemory    = errors.New("out of memory")
	ErrAccelerator    = errors.New("the accelerator failed")
	ErrIndex          = errors.New("index out of range")
	ErrValue          = errors.New("value not allowed")
	ErrType           = errors.New("type not allowed")
	ErrNotImplemented = errors.New("not implemented")
	ErrLinAlg         = errors.New("linear algebra failed")
	ErrDist           = errors.New("distributed communication failed")
	ErrClosed         = errors.New("tensor was closed")
	ErrLibrary        = errors.New("libtorch could not be loaded")
	ErrNoCUDA         = errors.New("CUDA is not available")
	ErrCallback       = errors.New("a callback failed")
)

var sentinels = map[Kind]error{
	KindOutOfMemory: ErrOutOfMemory, KindAccelerator: ErrAccelerator, KindIndex: ErrIndex, KindValue: ErrValue,
	KindType: ErrType, KindNotImplemented: ErrNotImplemented, KindLinAlg: ErrLinAlg, KindDist: ErrDist,
	KindClosed: ErrClosed, KindLibrary: ErrLibrary,
	KindNoCUDA: ErrNoCUDA, KindCallback: ErrCallback,
}

// Error is what tensor operations panic with, and nothing else. [Try] turns it into an
// error value.
type Error struct {
	Op   string   // the operator: "mm", "add.Tensor"
	Kind Kind     // what sort of failure
	Code int      // the device runtime's error code, for KindAccelerator
	Msg  string   // libtorch's own words
	Args []string // the tensors among the arguments: "float32[2, 3] on cuda:0"

	Cause error      // what failed inside, or nil: a *[CallbackPanic] for KindCallback
	Trail []Recorded // in [DetectAnomaly], the operation whose derivative failed and where it was recorded

	Module  string    // the path of the module whose Forward failed, "layer2.0.conv1", or its type; "" outside of modules
	Modules []any     // the modules whose Forward was running, innermost first
	Callers []uintptr // the call stack at the failure, in the form that runtime.CallersFrames takes
}

func newError(e *cgo.Error) *Error {
	return &Error{
		Op: e.Op, Kind: e.Kind, Code: e.Code, Msg: e.Msg, Args: e.Args, Cause: e.Cause, Trail: e.Trail,
		Callers: frames.Callers(0),
	}
}

// Caller is the innermost line of the program, outside of this library, that led to the
// failure. Its zero value says that the line is not known.
func (e *Error) Caller() runtime.Frame {
	frame, _ := frames.User(e.Callers)
	return frame
}

// Format writes the error as Error does; %+v adds the program's own lines that led to it,
// innermost first, and the cause with its lines, if there is one.
func (e *Error) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+'):
		io.WriteString(s, e.Error())
		for _, f := range frames.Users(e.Callers) {
			fmt.Fprintf(s, "\n\t%s\n\t\t%s:%d", f.Function, f.File, f.Line)
		}
		if e.Cause != nil {
			fmt.Fprintf(s, "\ncaused by: %+v", e.Cause)
		}
	default:
		io.WriteString(s, e.Error())
	}
}

// Error is one line: the module, the operator, libtorch's words, whose advice is given in Go's
// names, and the tensors involved.
func (e *Error) Error() string {
	if e.Kind == KindLibrary {
		return e.Msg // says itself that it is ours, and belongs to no operator
	}
	text := "torch: "
	if e.Module != "" {
		text += e.Module + ": "
	}
	text += e.Op + ": " + cgo.InGo(e.Msg)
	if len(e.Args) > 0 {
		text += " (with " + strings.Join(e.Args, ", ") + ")"
	}
	return text + trailText(e.Trail)
}

// Unwrap is the Cause: errors.Is and errors.As look at it, too.
func (e *Error) Unwrap() error { return e.Cause }

// Is matches the sentinel of the error's kind.
func (e *Error) Is(target error) bool { return target != nil && sentinels[e.Kind] == target }

// throw panics with an error that arose on the Go side.
func throw(op string, kind Kind, format string, args ...any) {
	panic(&Error{Op: op, Kind: kind, Msg: fmt.Sprintf(format, args...), Callers: frames.Callers(0)})
}

// Throw panics with an *[Error]: for packages that extend this one and find an argument
// wanting, so that [Try] treats their complaints like libtorch's.
func Throw(op string, kind Kind, format string, args ...any) { throw(op, kind, format, args...) }

// Try runs fn and returns the *[Error] that a tensor operation in it panicked with, or
// nil. Any other panic passes through.
//
//	err := torch.Try(func() { y = x.MatMul(w) })
func Try(fn func()) (err error) {
	defer Recover(&err)
	fn()
	return nil
}

// Recover is [Try] for the rest of a function: deferred, it makes the *[Error] that a tensor
// operation panics with the function's own error. Any other panic passes through.
//
//	func train() (err error) {
//		defer torch.Recover(&err)
func Recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

// Try1 is [Try] for a function with a result.
func Try1[T any](fn func() T) (v T, err error) {
	err = Try(func() { v = fn() })
	return v, err
}
