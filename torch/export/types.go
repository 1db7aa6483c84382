package export

import (
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// fits tells whether an argument is of a type of libtorch's schemas: "Tensor?", "int[]", "Scalar".
func fits(typ string, a Argument) bool {
	if own, ok := strings.CutSuffix(typ, "?"); ok {
		return a == nil || fits(own, a)
	}
	if i := strings.LastIndexByte(typ, '['); i >= 0 && strings.HasSuffix(typ, "]") {
		return fitsList(typ[:i], a)
	}
	switch a.(type) {
	case TensorArgument:
		return typ == "Tensor"
	case bool, SymBoolArgument:
		return typ == "bool" || typ == "Scalar" || typ == "number"
	case float64, SymFloatArgument:
		return typ == "float" || typ == "SymFloat" || typ == "Scalar" || typ == "number"
	case complex128:
		return typ == "complex" || typ == "Scalar" || typ == "number"
	case string:
		return typ == "str"
	case int64, SymIntArgument:
		return typ == "int" || typ == "SymInt" || typ == "float" || typ == "Scalar" || typ == "number"
	case torch.DType:
		return typ == "ScalarType"
	case torch.Device:
		return typ == "Device"
	case torch.Layout:
		return typ == "Layout"
	case torch.MemoryFormat:
		return typ == "MemoryFormat"
	}
	return false
}

// elementsOf returns the elements of an argument that is a list.
func elementsOf(a Argument) (list []Argument, ok bool) {
	switch a := a.(type) {
	case []TensorArgument:
		return spread(a), true
	case OptionalTensors:
		return a, true
	case []int64:
		return spread(a), true
	case []float64:
		return spread(a), true
	case []bool:
		return spread(a), true
	case []string:
		return spread(a), true
	case SymInts:
		return a, true
	case SymFloats:
		return a, true
	case SymBools:
		return a, true
	case [][]int64:
		return spread(a), true
	case [][]TensorArgument:
		return spread(a), true
	}
	return nil, false
}

func spread[T any](list []T) []Argument {
	all := make([]Argument, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

func fitsList(elem string, a Argument) bool {
	list, ok := elementsOf(a)
	for _, v := range list {
		ok = ok && fits(elem, v)
	}
	return ok
}
