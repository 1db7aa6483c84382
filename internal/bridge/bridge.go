package bridge

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/libtorch-go/libtorch/cgo"
)

// Core is what package torch lends.
type Core struct {
	Fail   func(*cgo.Error) // panics with torch's own error
	Box    func(c *cgo.Call, v any)
	Unbox  func(list []any) []any
	Within func(c *cgo.Call, fn func())
}

var core Core

// Connect is called by package torch, once.
func Connect(c Core) bool {
	core = c
	return true
}

// Done runs a call; it panics with *torch.Error as every operator does.
func Done(c *cgo.Call) {
	if err := c.Run(); err != nil {
		core.Fail(err)
	}
}

// DoneBack is Done for a call that may lead into Go.
func DoneBack(c *cgo.Call) {
	if err := c.RunBack(); err != nil {
		core.Fail(err)
	}
}

// Held tells whether the goroutine is in a scope or a mode.
func Held() bool { return cgo.Held() }

// Boxed runs a call that may lead into Go and takes its boxed results.
func Boxed(c *cgo.Call) []any {
	DoneBack(c)
	return core.Unbox(c.Boxed())
}

// Unboxed takes the boxed results of a call that was run.
func Unboxed(c *cgo.Call) []any { return core.Unbox(c.Boxed()) }

// Fail panics with *torch.Error for the error of a call.
func Fail(err *cgo.Error) { core.Fail(err) }

// Lending runs a call that lends the value of that number; if it fails, the loan ends.
func Lending(c *cgo.Call, id uint64) {
	if err := c.Run(); err != nil {
		cgo.TakeBack(id)
		core.Fail(err)
	}
}

// Bytes copies the elements of a tensor, in row-major order, into memory of the caller's, which has
// as many bytes. It panics with *torch.Error as every operator does.
func Bytes[Tensor any](t Tensor, into []byte) {
	var c cgo.Call
	c.Begin(cgo.OpToBytes)
	c.Tensor(Handle(t))
	c.Int(len(into))
	if err := c.RunData(unsafe.Pointer(unsafe.SliceData(into))); err != nil {
		core.Fail(err)
	}
}

// Fill has fill write the elements of a tensor, contiguous and on the CPU, where they lie, and returns its error. The memory is lent
// until then, and nobody may close the tensor before. It panics with *torch.Error as every operator does.
func Fill[Tensor any](t Tensor, fill func(memory []byte) error) error {
	h := Handle(t)
	var c cgo.Call
	c.Begin(cgo.OpElements)
	c.Changed(h)
	if err := c.Run(); err != nil {
		core.Fail(err)
	}
	defer runtime.KeepAlive(h)
	address := c.WordResult(0) // of libtorch's memory, which Go does not move
	return fill(unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), c.IntResult(1)))
}

// ReadFile fills a tensor, contiguous and on the CPU, with the bytes of a file from an offset on: the kernel writes them
// into the tensor's memory. A file that ends before is an io.ErrUnexpectedEOF. It panics with *torch.Error as every
// operator does.
func ReadFile[Tensor any](t Tensor, f *os.File, at int64) error {
	file, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var c cgo.Call
	c.Begin(cgo.OpReadFile)
	c.Changed(Handle(t))
	var failed *cgo.Error
	err = file.Control(func(descriptor uintptr) { // which stays open meanwhile
		c.Int(int(descriptor))
		c.Int(int(at))
		failed = c.Run()
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		core.Fail(failed)
	case c.IntResult(0) != 0:
		return &fs.PathError{Op: "read", Path: f.Name(), Err: syscall.Errno(c.IntResult(0))}
	case !c.BoolResult(1):
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Box adds a value to a call as torch.Call does.
func Box(c *cgo.Call, v any) { core.Box(c, v) }

// Within runs fn in a mode that a call begins, on one thread.
func Within(c *cgo.Call, fn func()) { core.Within(c, fn) }

// Handle is the handle behind a torch.Tensor.
func Handle[Tensor any](t Tensor) *cgo.Handle {
	return *as[*cgo.Handle](&t)
}

// Tensor is the torch.Tensor behind a handle.
func Tensor[Tensor any](h *cgo.Handle) Tensor {
	return *as[Tensor](&h)
}

// Generator adds a *torch.Generator to a call: nil is the device's own.
func Generator[G any](c *cgo.Call, g *G) {
	if g == nil {
		c.Tensor(nil)
		return
	}
	c.Object(*as[*cgo.Handle](g))
}

// Scalar adds a number or a bool to a call; it panics for anything else.
func Scalar(c *cgo.Call, v any) {
	if kind, ok := c.Scalar(v); !ok {
		core.Fail(&cgo.Error{Op: c.Name(), Kind: cgo.KindType, Msg: fmt.Sprintf("expected a number or a bool, got %s", kind)})
	}
}

// Code is the number of a torch.DType, Layout, MemoryFormat or Device in libtorch; -1 where it
// was not given.
func Code[Enum any](v Enum) int64 {
	if unsafe.Sizeof(v) == unsafe.Sizeof(uint32(0)) {
		return int64(*as[uint32](&v)) - 1
	}
	return int64(*as[uint8](&v)) - 1
}

// Device is the torch.Device of a code.
func Device[Device any](code uint64) Device {
	n := uint32(code + 1)
	return *as[Device](&n)
}

// Enum is the torch.DType, Layout or MemoryFormat of a number of libtorch's.
func Enum[Enum any](number int64) Enum {
	n := uint8(number + 1)
	return *as[Enum](&n)
}

// Reduction is the number of a torch.Reduction in libtorch, where the mean is 1.
func Reduction[R any](r R) int64 { return int64(*as[uint8](&r)+1) % 3 }

// as looks at a value of a type of torch's as at what it is made of.
func as[To, From any](p *From) *To {
	var to To
	if unsafe.Sizeof(to) != unsafe.Sizeof(*p) {
		panic(fmt.Sprintf("bridge: a %T is not made of a %T", *p, to))
	}
	return (*To)(unsafe.Pointer(p))
}
