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

// Defined tells whether x is a tensor at all: false for the zero Tensor.
func (x Tensor) Defined() bool { return x.h != nil }

// Close frees the tensor now rather than at the end of its scope or at the garbage
// collector's leisure. The memory goes when nothing else refers to it: autograd, a view,
// another tensor over the same storage. Closing twice, or closing the undefined tensor,
// does nothing; using a closed tensor panics with a *[Error] of [KindClosed].
func (x Tensor) Close() { x.h.Close() }

// Closed tells whether x was closed, by Close or by the end of its scope.
func (x Tensor) Closed() bool { return x.h != nil && x.h.Closed() }

// Is tells whether both are the same tensor, not merely equal ones.
func (x Tensor) Is(other Tensor) bool { return x.h == other.h }

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

func (x Tensor) traits() (d traits) {
	d.c.Begin(cgo.OpDescribe)
	putTensor(&d.c, x)
	done(&d.c)
	return d
}

func (d *traits) flag(f uint64) bool { return d.c.WordResult(6)&f != 0 }

// DType is the type of the elements.
func (x Tensor) DType() DType { d := x.traits(); return dtypeOf(d.c.WordResult(0)) }

// Device is where the elements are.
func (x Tensor) Device() Device { d := x.traits(); return deviceOf(d.c.WordResult(1)) }

// Layout is how the elements are stored: [Strided] unless the tensor is sparse.
func (x Tensor) Layout() Layout { d := x.traits(); return layoutOf(d.c.IntResult(2)) }

// Dim is the number of dimensions; 0 for a tensor that holds a single number.
func (x Tensor) Dim() int {
	var c cgo.Call
	c.Begin(cgo.OpDim)
	putTensor(&c, x)
	return resultInt(&c)
}

// NumEl is the number of elements.
func (x Tensor) NumEl() int { d := x.traits(); return d.c.IntResult(4) }

// ElementSize is the size of one element in bytes.
func (x Tensor) ElementSize() int { d := x.traits(); return d.c.IntResult(5) }

// StorageOffset is the index, in elements, of the first element within the storage.
func (x Tensor) StorageOffset() int { d := x.traits(); return d.c.IntResult(7) }

// Shape is the size of every dimension.
func (x Tensor) Shape() []int { return x.ints(cgo.OpSizes) }

// Stride is the distance, in elements, between neighbours along every dimension.
func (x Tensor) Stride() []int { return x.ints(cgo.OpStrides) }

func (x Tensor) ints(op cgo.Op) []int {
	var c cgo.Call
	c.Begin(op)
	putTensor(&c, x)
	done(&c)
	return c.IntResults(0)
}

// Size is the size of dimension dim; negative dims count from the end.
func (x Tensor) Size(dim int) int {
	shape := x.Shape()
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
func (x Tensor) IsContiguous(format ...MemoryFormat) bool {
	f := first(format)
	if f.IsZero() {
		f = ContiguousFormat
	}
	var c cgo.Call
	c.Begin(cgo.OpIsContiguous)
	putTensor(&c, x)
	c.Code(f.code())
	return resultBool(&c)
}

// IsInference tells whether the tensor was made under [Inference].
func (x Tensor) IsInference() bool { d := x.traits(); return d.flag(flagInference) }

// IsConj tells whether the tensor is a lazily conjugated view.
func (x Tensor) IsConj() bool { d := x.traits(); return d.flag(flagConj) }

// IsNeg tells whether the tensor is a lazily negated view.
func (x Tensor) IsNeg() bool { d := x.traits(); return d.flag(flagNeg) }

// IsFloatingPoint tells whether the elements are real floating-point numbers.
func (x Tensor) IsFloatingPoint() bool { return x.DType().IsFloatingPoint() }

// IsComplex tells whether the elements are complex numbers.
func (x Tensor) IsComplex() bool { return x.DType().IsComplex() }

// Version counts the in-place changes that autograd knows of.
func (x Tensor) Version() int {
	var c cgo.Call
	c.Begin(cgo.OpVersion)
	putTensor(&c, x)
	return resultInt(&c)
}

// StorageInfo describes the memory behind a tensor. Views of one tensor share it.
type StorageInfo struct {
	ID     uint64 // equal for tensors that share the storage
	Bytes  int    // its size
	Shared int    // how many tensors and C++ objects refer to it
}

// Storage describes the memory behind x.
func (x Tensor) Storage() StorageInfo {
	var c cgo.Call
	c.Begin(cgo.OpStorage)
	putTensor(&c, x)
	done(&c)
	return StorageInfo{ID: c.WordResult(0), Bytes: c.IntResult(1), Shared: c.IntResult(2)}
}

// A ToOption is something that [Tensor.To] can change: a [DType], a [Device], a
// [MemoryFormat], or one of the flags [NonBlocking] and [Copy].
type ToOption interface{ toOption() }

// ToFlag is an option of [Tensor.To] that is switched on by naming it.
type ToFlag struct{ n uint8 }

var (
	// NonBlocking starts a copy between pinned host memory and a device and returns
	// without waiting for it.
	NonBlocking = ToFlag{0}
	// Copy makes a copy even where x already is as asked for.
	Copy = ToFlag{1}
)

func (DType) toOption()        {}
func (Device) toOption()       {}
func (MemoryFormat) toOption() {}
func (ToFlag) toOption()       {}

// To returns x with another dtype, device or memory format, in any combination:
//
//	x.To(torch.CUDA(0), torch.BFloat16)
//	x.To(torch.ChannelsLast)
//
// Where nothing changes the result shares x's memory. Autograd follows.
func (x Tensor) To(options ...ToOption) Tensor {
	var (
		dtype  DType
		device Device
		format MemoryFormat
		flags  [2]bool
	)
	for _, option := range options { // by type, not by method: so no option has to lie on the heap
		switch o := option.(type) {
		case DType:
			dtype = o
		case Device:
			device = o
		case MemoryFormat:
			format = o
		case ToFlag:
			flags[o.n] = true
		case nil:
			throw("to", KindType, "nil is no option: To takes a DType, a Device, a MemoryFormat, NonBlocking or Copy")
		}
	}
	var c cgo.Call
	c.Begin(cgo.OpTo)
	putTensor(&c, x)
	c.Code(device.code())
	c.Code(dtype.code())
	c.Code(-1)
	c.Bool(flags[NonBlocking.n])
	c.Bool(flags[Copy.n])
	c.Code(format.code())
	return result1(&c)
}

// CPU is To(torch.CPU).
func (x Tensor) CPU() Tensor { return x.To(CPU) }

// CUDA is To(torch.CUDA(0)).
func (x Tensor) CUDA() Tensor { return x.To(CUDA(0)) }
