package cuda

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Kernels are the names of the kernels, in order.
func (b *Binary) Kernels() []string { return slices.Sorted(maps.Keys(b.kernels)) }

// Load loads the binary on a card.
func (b *Binary) Load(device int) (*Module, error) {
	if err := torch.CheckDevice(torch.CUDA(device)); err != nil {
		return nil, err
	}
	c := onCard(cgo.OpKernelLoad, device)
	c.Str(b.image)
	if err := torch.Try(func() { bridge.Done(c) }); err != nil {
		return nil, err
	}
	return &Module{binary: b, device: device, handle: c.WordResult(0)}, nil
}

// Module is compiled CUDA C++ on a card. It may be used by any number of goroutines.
type Module struct {
	binary  *Binary
	device  int
	handle  uint64
	closed  atomic.Bool
	kernels sync.Map // *Kernel by name
}

// Close waits for the card and unloads the module. Its kernels must not be launched any more. A
// module that is not closed stays until the process ends.
func (m *Module) Close() {
	if m.closed.Swap(true) {
		return
	}
	Synchronize(m.device)
	c := onCard(cgo.OpKernelUnload, m.device)
	c.Word(m.handle)
	bridge.Done(c)
}

// Kernel is the kernel of that name: that of its function, with its namespace ("mine::axpy"), or
// one of the Instances. If there is none it panics with a *torch.Error that lists those there are.
func (m *Module) Kernel(name string) *Kernel {
	if k, ok := m.kernels.Load(name); ok {
		return k.(*Kernel)
	}
	symbol, ok := m.binary.kernels[name]
	if !ok {
		torch.Throw("kernel", torch.KindValue, "there is no kernel %q; there are %s", name, strings.Join(m.binary.Kernels(), ", "))
	}
	if m.closed.Load() {
		torch.Throw("kernel", torch.KindClosed, "the module of %s has been closed", name)
	}
	c := onCard(cgo.OpKernelFunction, m.device)
	c.Word(m.handle)
	c.Str(symbol)
	bridge.Done(c)
	k := &Kernel{module: m, name: name, params: paramsOf(symbol), function: c.WordResult(0)}
	m.kernels.Store(name, k)
	return k
}

func onCard(op cgo.Op, device int) *cgo.Call {
	c := new(cgo.Call)
	c.Begin(op)
	c.Int(device)
	return c
}

// Dim3 is a number of blocks or threads in three directions; 0 is 1.
type Dim3 struct{ X, Y, Z int }

// Blocks is a grid of as many blocks as n threads in blocks of that size need.
func Blocks(n, block int) Dim3 { return Dim3{X: (n + block - 1) / block} }

func (d Dim3) put(c *cgo.Call) {
	for _, n := range []int{d.X, d.Y, d.Z} {
		c.Int(max(n, 1))
	}
}

// Kernel is a __global__ function on a card.
type Kernel struct {
	module   *Module
	name     string
	params   []param // nil if the symbol does not tell
	function uint64
}

// In marks a tensor that a kernel with C linkage only reads.
type In struct{ torch.Tensor }

// Launch runs the kernel on the current stream and does not wait for it. It takes the number of
// blocks, the number of threads in each block, and the bytes of shared memory beyond those that
// the kernel declares.
//
// Arguments are tensors, for pointers, and numbers. A tensor must be contiguous and on the
// module's card; the undefined tensor is a null pointer. The kernel's signature says which types
// are right: an element type must be the tensor's dtype, and a number is converted if the
// parameter can hold it. Tensors behind pointers to const are read, the others count as changed:
// a backward pass that has saved them reports it. A mistake panics with a *torch.Error, and the
// kernel does not run.
//
// The signature of a kernel with C linkage (extern "C") is not known. Numbers for it must have the
// size of the parameter (int32, float32), and all tensors count as changed unless they are
// given as [In].
func (k *Kernel) Launch(grid, block Dim3, shared int, args ...any) {
	if k.module.closed.Load() {
		torch.Throw(k.name, torch.KindClosed, "the kernel's module has been closed")
	}
	c := onCard(cgo.OpKernelLaunch, k.module.device)
	c.Word(k.function)
	grid.put(c)
	block.put(c)
	c.Int(shared)
	putArguments(c, k.name, torch.CUDA(k.module.device), k.params, args)
	bridge.Done(c)
}

// The ways to pass an argument, as in cgo/shim/nvrtc.cc.
const (
	passRead = iota
	passChange
	passBits
)

// putArguments adds a kernel's arguments after it has checked all of them.
func putArguments(c *cgo.Call, name string, device torch.Device, params []param, args []any) {
	if params != nil && len(params) != len(args) {
		torch.Throw(name, torch.KindType, "the kernel takes %d arguments, got %d", len(params), len(args))
	}
	words := make([]argument, len(args))
	for i, v := range args {
		p := param{unknown: true}
		if params != nil {
			p = params[i]
		}
		words[i] = p.accept(name, i, device, v)
	}
	c.List(len(words))
	for _, w := range words {
		c.Word(w.pass)
		switch w.pass {
		case passBits:
			c.Word(w.bits)
		case passChange:
			c.Changed(bridge.Handle(w.tensor))
		default:
			c.Tensor(bridge.Handle(w.tensor))
		}
	}
}
