package gotorch

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/wangkuiyi/gotorch/variadic"
)

// goTypeToTorch are the Go elements that tensors are made of. A uint16 holds the bits of a Half.
var goTypeToTorch = map[reflect.Kind]int8{
	reflect.Bool: Bool, reflect.Uint8: Byte, reflect.Int8: Char, reflect.Int16: Short, reflect.Int32: Int, reflect.Int64: Long,
	reflect.Uint16: Half, reflect.Float32: Float, reflect.Float64: Double,
}

// NewTensor makes a tensor of a slice, or of slices within each other. The option "dtype" says as what to take the
// elements' bits, such as BFloat16 for a uint16.
func NewTensor(data interface{}, options ...map[string]interface{}) Tensor {
	if k := reflect.TypeOf(data).Kind(); k != reflect.Slice {
		panic(fmt.Sprintf("NewTensor: the data is a %v: expected a slice", k))
	}
	shape, kind := sliceShapeAndElemKind(data)
	own, ok := goTypeToTorch[kind]
	if !ok {
		panic(fmt.Sprintf("NewTensor: the elements are of kind %v: expected bool, uint8, int8, int16, int32, int64, float32, float64, "+
			"or uint16 for halves", kind))
	}
	dtype := dtypeOf(tensorElemDType(options, kind))
	if want := dtypeOf(own); dtype.Size() != want.Size() {
		panic(fmt.Sprintf("NewTensor: dtype %v is not as wide as elements of kind %v", dtype, kind))
	}
	bits := make([]byte, 0, dtype.Size())
	gather(reflect.ValueOf(data), shape, &bits)
	return wrap(torch.FromBytes(bits, dtype, ints(shape)...))
}

// sliceShapeAndElemKind is the shape, as the first elements tell it, and the kind of the innermost elements.
func sliceShapeAndElemKind(data interface{}) (shape []int64, kind reflect.Kind) {
	v, t := reflect.ValueOf(data), reflect.TypeOf(data)
	for t.Kind() == reflect.Slice {
		n := 0
		if v.IsValid() {
			n = v.Len()
		}
		shape = append(shape, int64(n))
		t = t.Elem()
		if n == 0 {
			v = reflect.Value{}
		} else {
			v = v.Index(0)
		}
	}
	return shape, t.Kind()
}

// tensorElemDType is the option "dtype", or what the kind stands for.
func tensorElemDType(opts []map[string]interface{}, k reflect.Kind) int8 {
	if dtype, ok := variadic.Lookup(opts, "dtype"); ok {
		return dtype.(int8)
	}
	if dtype, ok := goTypeToTorch[k]; ok {
		return dtype
	}
	return Invalid
}

// gather appends the bytes of all elements.
func gather(v reflect.Value, shape []int64, bits *[]byte) {
	if n := v.Len(); int64(n) != shape[0] {
		panic(fmt.Sprintf("NewTensor: slices of one depth have %d and %d elements", shape[0], n))
	}
	if len(shape) > 1 {
		for i := range v.Len() {
			gather(v.Index(i), shape[1:], bits)
		}
		return
	}
	size := int(v.Type().Elem().Size())
	*bits = append(*bits, unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*size)...)
}

// FromBlob copies the elements that lie at data, in row-major order, into a new tensor.
func FromBlob(data unsafe.Pointer, dtype int8, sizes []int64) Tensor {
	d, n := dtypeOf(dtype), 1
	for _, size := range sizes {
		n *= int(size)
	}
	return wrap(torch.FromBytes(unsafe.Slice((*byte)(data), n*d.Size()), d, ints(sizes)...))
}
