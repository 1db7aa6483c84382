package nn

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// WithTensors is m with some of its parameters and buffers replaced, under the names of
// [StateDict]: PyTorch's torch.func.functional_call. The module itself does not change, so
// that many goroutines may do this at once; what is not replaced is shared.
//
//	y := nn.WithTensors(model, map[string]torch.Tensor{"fc.weight": w}).Forward(x)
//
// A field that holds no tensor may be given one. It panics for names that m lacks.
func WithTensors[M any](m M, tensors map[string]torch.Tensor) M {
	left := maps.Clone(tensors)
	replaced := substitute(reflect.ValueOf(&m).Elem(), "", left)
	if len(left) > 0 {
		torch.Throw("with_tensors", torch.KindValue, "%T has no tensors %s", m, strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return replaced.Interface().(M)
}

// substitute copies v as far as it contains tensors to replace, and removes these from the
// list.
func substitute(v reflect.Value, path string, tensors map[string]torch.Tensor) reflect.Value {
	if _, ok := asTensor(v); ok {
		if t, ok := tensors[path]; ok {
			delete(tensors, path)
			return reflect.ValueOf(t)
		}
		return v
	}
	if !leads(path, tensors) {
		return v
	}
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	if l, ok := v.Interface().(lender); ok {
		return reflect.ValueOf(l.with(path, tensors))
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			copied.Set(reflect.New(v.Type().Elem()))
			copied.Elem().Set(substitute(v.Elem(), path, tensors))
		}
	case reflect.Interface:
		if !v.IsNil() {
			copied.Set(substitute(v.Elem(), path, tensors))
		}
	case reflect.Struct:
		substituteFields(copied, path, tensors)
	case reflect.Map:
		copied.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for name, key := range keysOf(v) {
			copied.SetMapIndex(key, substitute(v.MapIndex(key), join(path, name), tensors))
		}
	case reflect.Slice:
		copied.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			at := v.Index(i)
			copied.Index(i).Set(substitute(at, join(path, elementName(i, at)), tensors))
		}
	}
	return copied
}

// substituteFields replaces the fields of a struct that is a copy.
func substituteFields(v reflect.Value, path string, tensors map[string]torch.Tensor) {
	t := v.Type()
	for i := range t.NumField() {
		f, at := t.Field(i), v.Field(i)
		text, tagged := f.Tag.Lookup("torch")
		lends := f.Anonymous && !tagged && embedded(f.Type)
		switch {
		case text == "-":
		case lends && f.Type.Kind() == reflect.Struct:
			substituteFields(at, path, tensors)
		case !f.IsExported():
		case lends || f.Type.Implements(lenderType):
			at.Set(substitute(at, path, tensors))
		default:
			parsed := parseTag(t, f.Name, text)
			at.Set(substitute(at, parsed.within(path), tensors))
		}
	}
}

// leads tells whether the path is that of a tensor to replace, or of something that
// contains one.
func leads(path string, tensors map[string]torch.Tensor) bool {
	for name := range tensors {
		if path == "" || strings.HasPrefix(name, path+".") {
			return true
		}
	}
	return false
}
