package torch

import (
	"math"
	"slices"
	"unsafe"

	"github.com/libtorch-go/libtorch/cgo"
)

// F16 holds the bits of a half-precision number: the Go value of [Float16].
type F16 = cgo.F16

// BF16 holds the upper half of a float32: the Go value of [BFloat16].
type BF16 = cgo.BF16

// Element is a Go type whose values a tensor can be made of and turned back into. An int
// becomes an int64.
type Element interface {
	bool | uint8 | int8 | int16 | int32 | int64 | int | uint16 | uint32 | uint64 |
		float32 | float64 | complex64 | complex128 | F16 | BF16
}

// DTypeOf is the dtype of tensors made of T.
func DTypeOf[T Element]() DType {
	var v T
	switch any(v).(type) {
	case bool:
		return Bool
	case uint8:
		return Uint8
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64, int:
		return Int64
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	case F16:
		return Float16
	default:
		return BFloat16
	}
}

// FromSlice makes a CPU tensor with a copy of the values, in row-major order. Without a
// shape it has one dimension. The shape must have room for exactly len(values) elements;
// one size may be -1, to be worked out.
//
//	x := torch.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
func FromSlice[T Element](values []T, shape ...int) Tensor {
	if len(shape) == 0 {
		shape = []int{len(values)}
	}
	return fromBytes(unsafe.Pointer(unsafe.SliceData(values)), len(values), DTypeOf[T](), shape)
}

// FromValue makes a CPU tensor without dimensions: one number.
func FromValue[T Element](v T) Tensor {
	return fromBytes(unsafe.Pointer(&v), 1, DTypeOf[T](), nil)
}

// FromBytes makes a CPU tensor of any dtype from the bytes of its elements, in row-major
// order and the machine's byte order. Quantized dtypes are refused: their tensors have a
// scale, which bytes have not.
func FromBytes(data []byte, dtype DType, shape ...int) Tensor {
	switch dtype {
	case QInt8, QUint8, QInt32, QUint4x2, QUint2x4:
		throw("from_bytes", KindType, "a tensor of %v has a scale, which bytes have not: make it of integers and quantize it", dtype)
	}
	size := dtype.Size()
	if len(data)%size != 0 {
		throw("from_bytes", KindValue, "%d bytes are not a whole number of %v elements", len(data), dtype)
	}
	return fromBytes(unsafe.Pointer(unsafe.SliceData(data)), len(data)/size, dtype, shape)
}

func fromBytes(data unsafe.Pointer, n int, dtype DType, shape []int) Tensor {
	var c cgo.Call
	c.Begin(cgo.OpFromBytes)
	c.Code(dtype.code())
	c.Ints(complete(shape, n))
	c.Int(n * dtype.Size())
	if err := c.RunData(data); err != nil {
		panic(newError(err))
	}
	return Tensor{c.Handle(0)}
}

// complete works out a size of -1 and checks that the shape has room for n elements.
func complete(shape []int, n int) []int {
	unknown, known := -1, 1
	for i, size := range shape {
		switch {
		case size == -1 && unknown < 0:
			unknown = i
		case size < 0:
			throw("from_slice", KindValue, "shape %v has a negative size", slices.Clone(shape))
		case size > 0 && known > math.MaxInt/size:
			throw("from_slice", KindValue, "shape %v is too large", slices.Clone(shape))
		default:
			known *= size
		}
	}
	if unknown >= 0 && known > 0 && n%known == 0 {
		shape = slices.Clone(shape)
		shape[unknown] = n / known
		return shape
	}
	if unknown >= 0 || known != n {
		throw("from_slice", KindValue, "%d values do not fill shape %v", n, slices.Clone(shape))
	}
	return shape
}

// Values returns the elements of t in row-major order, converted to T as [Tensor.To]
// converts. It waits for the device and copies.
func Values[T Element](t Tensor) (values []T) {
	Scope(func() {
		t := t
		if from, to := t.DType(), DTypeOf[T](); from != to {
			if from.IsComplex() && !to.IsComplex() {
				throw("values", KindType, "complex numbers cannot be read as %v", to)
			}
			if slices.Contains(quantizedDTypes, from) && t.quantized() {
				t = t.dequantized()
			}
			t = t.Detach().To(to)
		}
		t = t.readable()
		values = make([]T, t.NumEl())
		t.read(unsafe.Pointer(unsafe.SliceData(values)), len(values)*DTypeOf[T]().Size())
	})
	return values
}

// Value is the only element of t, converted to T as [Values] does:
//
//	loss := torch.Value[float32](y.Mean())
func Value[T Element](t Tensor) T {
	if n := t.NumEl(); n != 1 {
		throw("value", KindValue, "a tensor of %d elements has no single value", n)
	}
	return Values[T](t)[0]
}

// Bytes returns the elements of x as they are in memory, in row-major order.
func (x Tensor) Bytes() (data []byte) {
	Scope(func() {
		x := x.readable()
		data = make([]byte, x.NumEl()*x.ElementSize())
		x.read(unsafe.Pointer(unsafe.SliceData(data)), len(data))
	})
	return data
}

// readable returns x if its elements are in memory. A meta tensor or an expanded one may
// have more elements than fit into memory: Go would end the program for too large a slice,
// libtorch returns an error.
func (x Tensor) readable() Tensor {
	const large = 1 << 28 // bytes
	if d := x.traits(); d.c.IntResult(4) <= large/d.c.IntResult(5) {
		return x
	}
	return x.To(CPU).Contiguous()
}

func (x Tensor) read(data unsafe.Pointer, n int) {
	var c cgo.Call
	c.Begin(cgo.OpToBytes)
	putTensor(&c, x)
	c.Int(n)
	if err := c.RunData(data); err != nil {
		panic(newError(err))
	}
}

// Fill overwrites t, a contiguous CPU tensor, with values of its dtype. It allocates
// nothing, so a buffer can be made once and filled again and again.
func Fill[T Element](t Tensor, values []T) {
	if want := t.DType(); want != DTypeOf[T]() {
		throw("fill", KindType, "a tensor of %v cannot be filled with values of %v", want, DTypeOf[T]())
	}
	var c cgo.Call
	c.Begin(cgo.OpOverwrite)
	putChanged(&c, t)
	c.Int(len(values) * DTypeOf[T]().Size())
	if err := c.RunData(unsafe.Pointer(unsafe.SliceData(values))); err != nil {
		panic(newError(err))
	}
}

// MarshalJSON returns an error: elements do not belong into the JSON of a struct that
// happens to contain a tensor, and leaving them out would lose them silently. [Values]
// returns them as numbers, package torch/safetensors writes files.
func (x Tensor) MarshalJSON() ([]byte, error) {
	return nil, &Error{Op: "json", Kind: KindType, Msg: "a tensor has no JSON; write its torch.Values, or a file of torch/safetensors"}
}

// Item is the value of a tensor with one element: an int64, float64, bool or complex128,
// or a uint64 if it is larger than the largest int64. It waits for the device.
func (x Tensor) Item() Scalar {
	var c cgo.Call
	c.Begin(cgo.OpItem)
	putTensor(&c, x)
	return resultScalar(&c)
}

// Float64 is the value of a tensor with one real element.
func (x Tensor) Float64() float64 {
	switch v := x.Item().(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case bool:
		if v {
			return 1
		}
		return 0
	default:
		throw("item", KindType, "a complex number cannot be read as a float64")
		return 0
	}
}

// Int is the value of a tensor with one integer or boolean element.
func (x Tensor) Int() int {
	switch v := x.Item().(type) {
	case int64:
		return int(v)
	case bool:
		if v {
			return 1
		}
		return 0
	default:
		throw("item", KindType, "a value of dtype %v cannot be read as an int", x.DType())
		return 0
	}
}

// ToBF16 rounds to the nearest bfloat16, ties to even.
func ToBF16(f float32) BF16 { return cgo.ToBF16(f) }

// ToF16 rounds to the nearest half-precision number, ties to even; too large numbers
// become infinite.
func ToF16(f float32) F16 { return cgo.ToF16(f) }
