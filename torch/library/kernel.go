package library

import (
	"reflect"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// kernel is a Go function that fits a schema.
type kernel struct {
	schema Schema
	fn     reflect.Value
	params []reflect.Type // nil for a func([]any) []any
	fails  bool           // its last result is an error
}

// goTypes are what the simple types of schemas are in Go.
var goTypes = map[string][]reflect.Type{
	"Tensor":       {reflect.TypeFor[torch.Tensor]()},
	"int":          {reflect.TypeFor[int](), reflect.TypeFor[int64]()},
	"SymInt":       {reflect.TypeFor[int](), reflect.TypeFor[int64]()},
	"float":        {reflect.TypeFor[float64]()},
	"bool":         {reflect.TypeFor[bool]()},
	"str":          {reflect.TypeFor[string]()},
	"complex":      {reflect.TypeFor[complex128]()},
	"Scalar":       {reflect.TypeFor[any]()},
	"ScalarType":   {reflect.TypeFor[torch.DType]()},
	"Layout":       {reflect.TypeFor[torch.Layout]()},
	"MemoryFormat": {reflect.TypeFor[torch.MemoryFormat]()},
	"Device":       {reflect.TypeFor[torch.Device]()},
}

// fits tells whether a Go type can hold the values of a schema's type.
func fits(declared string, t reflect.Type) bool {
	if inner, ok := strings.CutSuffix(declared, "?"); ok && inner == "Tensor" {
		return fits(inner, t)
	} else if ok {
		return t.Kind() == reflect.Pointer && fits(inner, t.Elem())
	}
	if inner, ok := strings.CutSuffix(declared, "[]"); ok {
		return t.Kind() == reflect.Slice && fits(inner, t.Elem())
	}
	for _, own := range goTypes[declared] {
		if t == own {
			return true
		}
	}
	return false
}

func newKernel(s Schema, fn any) *kernel {
	k := &kernel{schema: s, fn: reflect.ValueOf(fn)}
	if _, ok := fn.(func([]any) []any); ok {
		return k
	}
	t := reflect.TypeOf(fn)
	if t == nil || t.Kind() != reflect.Func || t.IsVariadic() {
		torch.Throw(s.Name, torch.KindType, "a kernel is a function with the parameters of %v, got %T", s, fn)
	}
	results := t.NumOut()
	if results > 0 && t.Out(results-1) == reflect.TypeFor[error]() {
		k.fails = true
		results--
	}
	if t.NumIn() != len(s.Arguments) || results != len(s.Results) {
		torch.Throw(s.Name, torch.KindType, "a kernel takes %d values and returns %d for %v, got %v", len(s.Arguments), len(s.Results), s, t)
	}
	k.params = make([]reflect.Type, t.NumIn())
	for i, a := range s.Arguments {
		k.params[i] = t.In(i)
		if !fits(a.Type, t.In(i)) {
			torch.Throw(s.Name, torch.KindType, "parameter %d of its kernel, %v, cannot hold %s %s of %v", i, t.In(i), a.Type, a.Name, s)
		}
	}
	for i, a := range s.Results {
		if !fits(a.Type, t.Out(i)) {
			torch.Throw(s.Name, torch.KindType, "result %d of its kernel, %v, is not a %s as in %v", i, t.Out(i), a.Type, s)
		}
	}
	return k
}

// serve handles a call of the operator.
func (k *kernel) serve(t *cgo.Turn) {
	args := arguments(t)
	if k.params == nil {
		answer(t, k.fn.Interface().(func([]any) []any)(args))
		return
	}
	in := make([]reflect.Value, len(args))
	for i, v := range args {
		in[i] = value(v, k.params[i])
	}
	out := k.fn.Call(in)
	if k.fails {
		if err, ok := out[len(out)-1].Interface().(error); ok {
			panic(err)
		}
		out = out[:len(out)-1]
	}
	results := make([]any, len(out))
	for i, v := range out {
		results[i] = plain(v)
	}
	answer(t, results)
}

// arguments fetches the arguments of a call of the operator.
func arguments(t *cgo.Turn) []any {
	var c cgo.Call
	c.Begin(cgo.OpKernelArguments)
	c.Word(t.Arg)
	return bridge.Boxed(&c)
}

// answer passes results to the call.
func answer(t *cgo.Turn, results []any) {
	c := boxed(cgo.OpKernelResults, t, results)
	bridge.Done(c)
}

func boxed(op cgo.Op, t *cgo.Turn, values []any) *cgo.Call {
	c := new(cgo.Call)
	c.Begin(op)
	c.Word(t.Arg)
	c.List(len(values))
	for _, v := range values {
		bridge.Box(c, v)
	}
	return c
}

// value converts an argument to the parameter's type, which fits.
func value(v any, t reflect.Type) reflect.Value {
	r := reflect.New(t).Elem()
	if v == nil {
		return r
	}
	switch t {
	case reflect.TypeFor[torch.DType]():
		r.Set(reflect.ValueOf(bridge.Enum[torch.DType](v.(int64))))
		return r
	case reflect.TypeFor[torch.Layout]():
		r.Set(reflect.ValueOf(bridge.Enum[torch.Layout](v.(int64))))
		return r
	case reflect.TypeFor[torch.MemoryFormat]():
		r.Set(reflect.ValueOf(bridge.Enum[torch.MemoryFormat](v.(int64))))
		return r
	}
	switch t.Kind() {
	case reflect.Pointer:
		r.Set(reflect.New(t.Elem()))
		r.Elem().Set(value(v, t.Elem()))
	case reflect.Slice:
		list := reflect.ValueOf(v) // a []torch.Tensor if it is empty, whatever it is of
		r.Set(reflect.MakeSlice(t, list.Len(), list.Len()))
		for i := range list.Len() {
			r.Index(i).Set(value(list.Index(i).Interface(), t.Elem()))
		}
	case reflect.Int, reflect.Int64:
		r.SetInt(v.(int64))
	default:
		r.Set(reflect.ValueOf(v))
	}
	return r
}

// plain converts a kernel's result to a value that can be boxed.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	default:
		return v.Interface()
	}
}
