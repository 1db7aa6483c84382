package torch

import "reflect"

// FromNested makes a CPU tensor of slices or arrays within each other, as PyTorch's
// torch.tensor does of lists:
//
//	x := torch.FromNested([][]float32{{1, 2, 3}, {4, 5, 6}}) // [2 3]
//
// The innermost elements are of any type of [Element], or a type of one's own made of it. It
// panics with a *[Error] where lists of one depth differ in length.
func FromNested(values any) Tensor {
	v := reflect.ValueOf(values)
	shape, elem := nestedShape(v)
	flat := reflect.MakeSlice(reflect.SliceOf(elem), 0, 0)
	flat = flatten(flat, v, shape)
	x := fromFlat(flat.Interface(), shape)
	if len(shape) > 0 {
		return x
	}
	defer x.Close()
	return x.Reshape()
}

// nestedShape follows the first elements down to one that is no list.
func nestedShape(v reflect.Value) (shape []int, elem reflect.Type) {
	if !v.IsValid() {
		throw("from_nested", KindType, "expected slices or arrays of numbers, got nil")
	}
	typ := v.Type()
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array {
		n := 0
		if v.IsValid() {
			n = v.Len()
		}
		shape = append(shape, n)
		if typ = typ.Elem(); n > 0 {
			v = v.Index(0)
		} else {
			v = reflect.Value{}
		}
	}
	if elem = basic(typ); elem == nil {
		throw("from_nested", KindType, "expected slices or arrays of numbers, got elements of type %v", typ)
	}
	return shape, elem
}

// elements are the types of Element by their kinds.
var elements = map[reflect.Kind]reflect.Type{
	reflect.Bool: reflect.TypeFor[bool](), reflect.Int: reflect.TypeFor[int](), reflect.Int8: reflect.TypeFor[int8](),
	reflect.Int16: reflect.TypeFor[int16](), reflect.Int32: reflect.TypeFor[int32](), reflect.Int64: reflect.TypeFor[int64](),
	reflect.Uint8: reflect.TypeFor[uint8](), reflect.Uint16: reflect.TypeFor[uint16](), reflect.Uint32: reflect.TypeFor[uint32](),
	reflect.Uint64: reflect.TypeFor[uint64](), reflect.Float32: reflect.TypeFor[float32](), reflect.Float64: reflect.TypeFor[float64](),
	reflect.Complex64: reflect.TypeFor[complex64](), reflect.Complex128: reflect.TypeFor[complex128](),
}

// basic is the type of Element that typ is made of; nil where there is none.
func basic(typ reflect.Type) reflect.Type {
	if typ == reflect.TypeFor[F16]() || typ == reflect.TypeFor[BF16]() {
		return typ
	}
	return elements[typ.Kind()]
}

func flatten(flat, v reflect.Value, shape []int) reflect.Value {
	if len(shape) == 0 {
		return reflect.Append(flat, v.Convert(flat.Type().Elem()))
	}
	if v.Len() != shape[0] {
		throw("from_nested", KindValue, "lists of one depth have %d and %d elements, expected the same number in each", shape[0], v.Len())
	}
	for i := range v.Len() {
		flat = flatten(flat, v.Index(i), shape[1:])
	}
	return flat
}

func fromFlat(flat any, shape []int) Tensor {
	switch f := flat.(type) {
	case []bool:
		return FromSlice(f, shape...)
	case []int:
		return FromSlice(f, shape...)
	case []int8:
		return FromSlice(f, shape...)
	case []int16:
		return FromSlice(f, shape...)
	case []int32:
		return FromSlice(f, shape...)
	case []int64:
		return FromSlice(f, shape...)
	case []uint8:
		return FromSlice(f, shape...)
	case []uint16:
		return FromSlice(f, shape...)
	case []uint32:
		return FromSlice(f, shape...)
	case []uint64:
		return FromSlice(f, shape...)
	case []float32:
		return FromSlice(f, shape...)
	case []float64:
		return FromSlice(f, shape...)
	case []complex64:
		return FromSlice(f, shape...)
	case []complex128:
		return FromSlice(f, shape...)
	case []F16:
		return FromSlice(f, shape...)
	default:
		return FromSlice(flat.([]BF16), shape...)
	}
}

// Matrix returns the elements of a matrix row by row, converted as [Values] converts them.
func Matrix[T Element](x Tensor) [][]T {
	if n := x.Dim(); n != 2 {
		throw("matrix", KindValue, "expected a matrix, got a tensor of %d dimensions", n)
	}
	flat, cols := Values[T](x), x.Size(1)
	rows := make([][]T, x.Size(0))
	for i := range rows {
		rows[i] = flat[i*cols : (i+1)*cols : (i+1)*cols]
	}
	return rows
}
