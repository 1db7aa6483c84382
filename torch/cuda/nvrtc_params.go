package cuda

import (
	"math"
	"reflect"

	"github.com/libtorch-go/libtorch/torch"
)

// param is a parameter of a kernel.
type param struct {
	unknown bool // its kernel has C linkage, or a type that is not understood
	pointer bool
	fixed   bool   // behind the pointer nothing is changed
	element string // of C's types, as symbols have them: "f" is float
}

// argument is what is passed to the card for a parameter.
type argument struct {
	pass   uint64
	bits   uint64
	tensor torch.Tensor
}

// dtypes lists the dtypes whose elements have a C type. Types that are not in the list,
// structures and void, fit any dtype.
var dtypes = map[string][]torch.DType{
	"b": {torch.Bool}, "a": {torch.Int8}, "c": {torch.Int8, torch.Uint8}, "h": {torch.Uint8, torch.Bool},
	"s": {torch.Int16}, "t": {torch.Uint16}, "i": {torch.Int32}, "j": {torch.Uint32},
	"l": {torch.Int64}, "x": {torch.Int64}, "m": {torch.Uint64}, "y": {torch.Uint64},
	"f": {torch.Float32}, "d": {torch.Float64}, "6__half": {torch.Float16}, "13__nv_bfloat16": {torch.BFloat16},
}

// accept converts a Go value to argument number i of a kernel, or panics.
func (p param) accept(kernel string, i int, device torch.Device, v any) argument {
	switch v := v.(type) {
	case torch.Tensor:
		pass := uint64(passChange)
		if p.fixed {
			pass = passRead
		}
		return p.acceptTensor(kernel, i, device, v, pass)
	case In:
		return p.acceptTensor(kernel, i, device, v.Tensor, passRead)
	}
	number := reflect.ValueOf(v)
	switch {
	case !p.unknown && p.pointer:
		torch.Throw(kernel, torch.KindType, "argument %d is a pointer to %s: a tensor is wanted, got a %T", i, cName(p.element), v)
	case p.unknown:
		return argument{pass: passBits, bits: exactBits(kernel, i, number)}
	}
	bits, ok := p.bits(number)
	if !ok {
		torch.Throw(kernel, torch.KindType, "argument %d is a %s, which %v (a %T) is not", i, cName(p.element), v, v)
	}
	return argument{pass: passBits, bits: bits}
}

func (p param) acceptTensor(kernel string, i int, device torch.Device, x torch.Tensor, pass uint64) argument {
	if !p.unknown && !p.pointer {
		torch.Throw(kernel, torch.KindType, "argument %d is a %s, got a tensor", i, cName(p.element))
	}
	if !x.Defined() {
		return argument{pass: pass}
	}
	if x.Device() != device {
		torch.Throw(kernel, torch.KindValue, "argument %d is on %v, the kernel is on %v", i, x.Device(), device)
	}
	if !x.IsContiguous() {
		torch.Throw(kernel, torch.KindValue, "argument %d is not contiguous: its shape is %v, its strides are %v", i, x.Shape(), x.Stride())
	}
	wanted := dtypes[p.element]
	for _, d := range wanted {
		if d == x.DType() {
			wanted = nil
			break
		}
	}
	if wanted != nil {
		torch.Throw(kernel, torch.KindType, "argument %d is a pointer to %s, got a tensor of %v", i, cName(p.element), x.DType())
	}
	return argument{pass: pass, tensor: x}
}

// exactBits returns the bits of a number whose type has a fixed size.
func exactBits(kernel string, i int, v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(v.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Float32:
		return uint64(math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		return math.Float64bits(v.Float())
	case reflect.Int, reflect.Uint:
		torch.Throw(kernel, torch.KindType,
			"argument %d is an %v, and the kernel's signature is not known: use int32 or int64, as the parameter is declared, or "+
				"leave out extern \"C\"", i, v.Type())
	default:
		torch.Throw(kernel, torch.KindType, "argument %d, of type %v, cannot be passed to a kernel", i, typeOf(v))
	}
	return 0
}

func typeOf(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Type()
}

// integers are the sizes of C's integer types in bits, negative for signed ones.
var integers = map[string]int{"a": -8, "c": -8, "h": 8, "s": -16, "t": 16, "i": -32, "j": 32, "l": -64, "x": -64, "m": 64, "y": 64}

// bits converts a number to the parameter's type, if that can hold it.
func (p param) bits(v reflect.Value) (uint64, bool) {
	size, whole := integers[p.element]
	switch {
	case p.element == "b":
		return exactBool(v)
	case whole && v.CanInt() && size < 0:
		n := v.Int()
		return uint64(n), n<<(64+size)>>(64+size) == n
	case whole && v.CanInt():
		n := v.Int()
		return uint64(n), n >= 0 && uint64(n)<<(64-size)>>(64-size) == uint64(n)
	case whole && v.CanUint():
		n := v.Uint()
		if size < 0 {
			return n, n>>(-size-1) == 0
		}
		return n, n<<(64-size)>>(64-size) == n
	}
	var x float64
	switch {
	case v.CanFloat():
		x = v.Float()
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	default:
		return 0, false
	}
	switch p.element {
	case "f":
		return uint64(math.Float32bits(float32(x))), true
	case "d":
		return math.Float64bits(x), true
	}
	return 0, false
}

func exactBool(v reflect.Value) (uint64, bool) {
	if v.Kind() != reflect.Bool {
		return 0, false
	}
	if v.Bool() {
		return 1, true
	}
	return 0, true
}

var cNames = map[string]string{
	"v": "void", "b": "bool", "a": "signed char", "c": "char", "h": "unsigned char", "s": "short", "t": "unsigned short",
	"i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
	"f": "float", "d": "double",
}

// cName is a type as C has it.
func cName(element string) string {
	if name, ok := cNames[element]; ok {
		return name
	}
	for len(element) > 0 && element[0] >= '0' && element[0] <= '9' { // the length of a name
		element = element[1:]
	}
	return element
}
