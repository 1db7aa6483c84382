package gotorch

import (
	"fmt"
	"unsafe"

	"github.com/libtorch-go/libtorch/torch"
)

// Tensor refers to a tensor; copies of it are the same tensor. T is nil for one that is not there, such as an absent
// bias. What T points to begins with libtorch's pointer: T is a valid at::Tensor* as long as the Tensor is in use.
type Tensor struct {
	T *unsafe.Pointer
}

// undefined is what T of a gradient that is not there yet points to: it is not nil, as users know it.
var undefined unsafe.Pointer

// core is the tensor of package torch. Both are one pointer to the same handle.
func (a Tensor) core() torch.Tensor {
	if a.T == &undefined {
		return torch.Tensor{}
	}
	return *(*torch.Tensor)(unsafe.Pointer(&a))
}

// wrap is the way back.
func wrap(t torch.Tensor) Tensor { return *(*Tensor)(unsafe.Pointer(&t)) }

// Unwrap is the tensor of libtorch for Go behind a, for programs that move step by step. Both are the same tensor.
func Unwrap(a Tensor) torch.Tensor { return a.core() }

// Wrap is t as a Tensor of this package. Both are the same tensor.
func Wrap(t torch.Tensor) Tensor { return wrap(t) }

// MustNil panics with the text that err points to, which ends in a zero byte, unless err is nil. The text is not freed.
func MustNil(err unsafe.Pointer) {
	if err == nil {
		return
	}
	n := 0
	for *(*byte)(unsafe.Add(err, n)) != 0 {
		n++
	}
	panic(string(unsafe.Slice((*byte)(err), n)))
}

// SetTensorFinalizer does nothing: tensors are freed without it.
func SetTensorFinalizer(*unsafe.Pointer) {}

// ints are sizes and dimensions as package torch has them.
func ints(list []int64) []int {
	r := make([]int, len(list))
	for i, v := range list {
		r[i] = int(v)
	}
	return r
}

// Detach is the tensor without its history.
func (a *Tensor) Detach() Tensor { return wrap(a.core().Detach()) }

// Print prints the tensor and a newline to standard output.
func (a Tensor) Print() { fmt.Println(a) }

// Dim is the number of dimensions.
func (a Tensor) Dim() int64 { return int64(a.core().Dim()) }

// Shape is the size of every dimension.
func (a Tensor) Shape() []int64 {
	shape := a.core().Shape()
	r := make([]int64, len(shape))
	for i, n := range shape {
		r[i] = int64(n)
	}
	return r
}

// Dtype is the type of the elements: Float, Long and so on.
func (a Tensor) Dtype() int8 { return codeOf(a.core().DType()) }

// Backward computes gradients. It panics where a does not require any.
func (a Tensor) Backward() { a.core().Backward() }

// Grad is the gradient, the same tensor that the optimizer sees. Before Backward it is undefined, though its T is not nil.
func (a Tensor) Grad() Tensor {
	g := wrap(a.core().Grad())
	if g.T == nil {
		g.T = &undefined
	}
	return g
}

// To is the tensor on the device, and of the dtype if one is given.
func (a Tensor) To(device Device, dtype ...int8) Tensor {
	if len(dtype) == 0 {
		return a.CopyTo(device)
	}
	return wrap(a.core().To(device.core(), dtypeOf(dtype[0])))
}

// To is the tensor on the device and of the dtype.
func To(a Tensor, device Device, dtype int8) Tensor { return a.To(device, dtype) }

// CUDA is the tensor on a device, which must be a card. A copy that is nonBlocking starts from pinned memory and goes on
// while the program does.
func (a Tensor) CUDA(device Device, nonBlocking bool) Tensor {
	d := device.core()
	if !d.IsCUDA() {
		panic(fmt.Sprintf("CUDA: the device is %v and should be a CUDA device", d))
	}
	if nonBlocking {
		return wrap(a.core().To(d, torch.NonBlocking))
	}
	return wrap(a.core().To(d))
}

// CastTo is the tensor with elements of another type.
func (a Tensor) CastTo(dtype int8) Tensor { return wrap(a.core().To(dtypeOf(dtype))) }

// CopyTo is the tensor on the device: a itself if it is there already.
func (a Tensor) CopyTo(device Device) Tensor { return wrap(a.core().To(device.core())) }

// PinMemory is a copy in page-locked memory; where there is no card it is a itself.
func (a Tensor) PinMemory() Tensor {
	if !IsCUDAAvailable() {
		return a
	}
	return wrap(a.core().PinMemory())
}

// SetData makes a refer to the memory of b, behind autograd's back.
func (a Tensor) SetData(b Tensor) { a.core().SetData(b.core()) }

// Index is the element at index, which names every dimension, as a tensor without dimensions.
func (a Tensor) Index(index ...int64) Tensor {
	if dims := a.core().Dim(); len(index) != dims {
		panic(fmt.Sprintf("Index: %v has %d numbers, and the tensor %d dimensions", index, len(index), dims))
	}
	places := make([]any, len(index))
	for i, at := range index {
		places[i] = int(at)
	}
	return wrap(a.core().Index(places...))
}
