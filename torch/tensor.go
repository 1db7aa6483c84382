package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// Tensor is a multi-dimensional array of one [DType] on one [Device]. It is a small value
// that refers to the array, as a slice does: copies of it are the same tensor. The zero
// Tensor is the undefined tensor, PyTorch's None: an absent bias, a gradient not yet made.
//
// A tensor made inside a [Scope] is freed when the scope ends; any other is freed by
// [Tensor.Close], or by the garbage collector some time after its last use.
type Tensor struct {
	h *cgo.Handle
}

// Defined tells whether t is a tensor at all: false for the zero Tensor.
func (t Tensor) Defined() bool { return t.h != nil }

// Close frees the tensor now rather than at the end of its scope or at the garbage
// collector's leisure. The memory goes when nothing else refers to it: autograd, a view,
// another tensor over the same storage. Closing twice, or closing the undefined tensor,
// does nothing; using a closed tensor panics with a *[Error] of [KindClosed].
func (t Tensor) Close() { t.h.Close() }

// Closed tells whether t was closed, by Close or by the end of its scope.
func (t Tensor) Closed() bool { return t.h != nil && t.h.Closed() }

// Is tells whether both are the same tensor, not merely equal ones.
func (t Tensor) Is(other Tensor) bool { return t.h == other.h }

// traits is what entry describe tells of a tensor.
type traits struct {
	c cgo.Call
}

const (
	flagRequiresGrad = 1 << iota
	flagLeaf
	flagInference
	flagConj
	flagNeg
)

func (t Tensor) traits() (d traits) {
	d.c.Begin(cgo.OpDescribe)
	putTensor(&d.c, t)
	done(&d.c)
	return d
}

func (d *traits) flag(f uint64) bool { return d.c.WordResult(6)&f != 0 }

// DType is the type of the elements.
func (t Tensor) DType() DType { d := t.traits(); return dtypeOf(d.c.WordResult(0)) }

// Device is where the elements are.
func (t Tensor) Device() Device { d := t.traits(); return deviceOf(d.c.WordResult(1)) }

// Layout is how the elements are stored: [Strided] unless the tensor is sparse.
func (t Tensor) Layout() Layout { d := t.traits(); return Layout(d.c.IntResult(2) + 1) }

// Dim is the number of dimensions; 0 for a tensor that holds a single number.
func (t Tensor) Dim() int {
	var c cgo.Call
	c.Begin(cgo.OpDim)
	putTensor(&c, t)
	return resultInt(&c)
}

// NumEl is the number of elements.
func (t Tensor) NumEl() int { d := t.traits(); return d.c.IntResult(4) }

// ElementSize is the size of one element in bytes.
func (t Tensor) ElementSize() int { d := t.traits(); return d.c.IntResult(5) }

// StorageOffset is the index, in elements, of the first element within the storage.
func (t Tensor) StorageOffset() int { d := t.traits(); return d.c.IntResult(7) }

// Shape is the size of every dimension.
func (t Tensor) Shape() []int { return t.ints(cgo.OpSizes) }

// Stride is the distance, in elements, between neighbours along every dimension.
func (t Tensor) Stride() []int { return t.ints(cgo.OpStrides) }

func (t Tensor) ints(op cgo.Op) []int {
	var c cgo.Call
	c.Begin(op)
	putTensor(&c, t)
	done(&c)
	words := c.Words(0)
	list := make([]int, len(words))
	for i, w := range words {
		list[i] = int(w)
	}
	return list
}

// Size is the size of dimension dim; negative dims count from the end.
func (t Tensor) Size(dim int) int {
	shape := t.Shape()
	i := dim
	if i < 0 {
		i += len(shape)
	}
	if i < 0 || i >= len(shape) {
		throw("size", KindIndex, "dimension %d is out of range for a tensor of %d dimensions", dim, len(shape))
	}
	return shape[i]
}

// IsContiguous tells whether the elements lie in memory in row-major order, or in the
// order of the given format.
func (t Tensor) IsContiguous(format ...MemoryFormat) bool {
	f := first(format)
	if f == 0 {
		f = ContiguousFormat
	}
	var c cgo.Call
	c.Begin(cgo.OpIsContiguous)
	putTensor(&c, t)
	c.Code(f.code())
	return resultBool(&c)
}

// IsInference tells whether the tensor was made under [Inference].
func (t Tensor) IsInference() bool { d := t.traits(); return d.flag(flagInference) }

// IsConj tells whether the tensor is a lazily conjugated view.
func (t Tensor) IsConj() bool { d := t.traits(); return d.flag(flagConj) }

// IsNeg tells whether the tensor is a lazily negated view.
func (t Tensor) IsNeg() bool { d := t.traits(); return d.flag(flagNeg) }

// IsFloatingPoint tells whether the elements are real floating-point numbers.
func (t Tensor) IsFloatingPoint() bool { return t.DType().IsFloatingPoint() }

// IsComplex tells whether the elements are complex numbers.
func (t Tensor) IsComplex() bool { return t.DType().IsComplex() }

// Version counts the in-place changes that autograd knows of.
func (t Tensor) Version() int {
	var c cgo.Call
	c.Begin(cgo.OpVersion)
	putTensor(&c, t)
	return resultInt(&c)
}

// StorageInfo describes the memory behind a tensor. Views of one tensor share it.
type StorageInfo struct {
	ID     uint64 // equal for tensors that share the storage
	Bytes  int    // its size
	Shared int    // how many tensors and C++ objects refer to it
}

// Storage describes the memory behind t.
func (t Tensor) Storage() StorageInfo {
	var c cgo.Call
	c.Begin(cgo.OpStorage)
	putTensor(&c, t)
	done(&c)
	return StorageInfo{ID: c.WordResult(0), Bytes: c.IntResult(1), Shared: c.IntResult(2)}
}

// A ToOption is something that [Tensor.To] can change: a [DType], a [Device], a
// [MemoryFormat], or one of the flags [NonBlocking] and [Copy].
type ToOption interface{ to(*toOptions) }

type toOptions struct {
	dtype             DType
	device            Device
	format            MemoryFormat
	nonBlocking, copy bool
}

// ToFlag is an option of [Tensor.To] that is switched on by naming it.
type ToFlag int

const (
	// NonBlocking starts a copy between pinned host memory and a device and returns
	// without waiting for it.
	NonBlocking ToFlag = iota
	// Copy makes a copy even where t already is as asked for.
	Copy
)

func (d DType) to(o *toOptions)        { o.dtype = d }
func (d Device) to(o *toOptions)       { o.device = d }
func (m MemoryFormat) to(o *toOptions) { o.format = m }
func (f ToFlag) to(o *toOptions) {
	switch f {
	case NonBlocking:
		o.nonBlocking = true
	case Copy:
		o.copy = true
	}
}

// To returns t with another dtype, device or memory format, in any combination:
//
//	x.To(torch.CUDA(0), torch.BFloat16)
//	x.To(torch.ChannelsLast)
//
// Where nothing changes the result shares t's memory. Autograd follows.
func (t Tensor) To(options ...ToOption) Tensor {
	var o toOptions
	for _, option := range options {
		option.to(&o)
	}
	var c cgo.Call
	c.Begin(cgo.OpTo)
	putTensor(&c, t)
	c.Code(o.device.code())
	c.Code(o.dtype.code())
	c.Code(-1)
	c.Bool(o.nonBlocking)
	c.Bool(o.copy)
	c.Code(o.format.code())
	return result1(&c)
}

// CPU is To(torch.CPU).
func (t Tensor) CPU() Tensor { return t.To(CPU) }

// CUDA is To(torch.CUDA(0)).
func (t Tensor) CUDA() Tensor { return t.To(CUDA(0)) }

// Raw is the handle behind t, for the packages of this module that go through the door
// themselves.
func (t Tensor) Raw() *cgo.Handle { return t.h }

// FromRaw is the tensor behind a handle.
func FromRaw(h *cgo.Handle) Tensor { return Tensor{h} }
