package fuzz

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/torch"
)

// A function is a Go function whose arguments have names.
type function struct {
	fn     reflect.Value
	params []place
	named  map[string]int // of params

	receiver reflect.Value // where fn is a method
}

// place is where a function has an argument.
type place struct {
	name   string
	param  int
	elem   int    // of a variadic parameter, -1 for the parameter itself
	field  string // of the options
	negate bool
	typ    reflect.Type
	needed bool // the call makes no sense without it
}

// ofForm is the Go form of an operator, with the names of its schema.
func ofForm(f optable.Form) function {
	fn := function{fn: reflect.ValueOf(f.Func)}
	typ := fn.fn.Type()
	for _, p := range f.Places() {
		at := place{name: p.Arg, param: p.Param, elem: p.Elem, field: p.Field, negate: p.Negate, needed: f.Requires(p)}
		switch {
		case p.Field != "":
			at.param = typ.NumIn() - 1
			options := typ.In(0)
			if options != optionsType {
				options = typ.In(at.param).Elem()
			} else {
				at.param = 0
			}
			field, ok := options.FieldByName(p.Field)
			if !ok {
				continue
			}
			at.typ = field.Type
		case p.Param < 0:
			continue
		case p.Elem >= 0:
			at.typ = typ.In(p.Param).Elem()
		default:
			at.typ = typ.In(p.Param)
		}
		fn.params = append(fn.params, at)
	}
	return fn.index()
}

var optionsType = reflect.TypeFor[torch.TensorOptions]()

// ofFunc is any Go function: its parameters are a0, a1 and so on, and the fields of its
// options have their own names, after a prefix for all of them.
func ofFunc(f any, prefix string) function {
	fn := function{fn: reflect.ValueOf(f)}
	typ := fn.fn.Type()
	for i := range typ.NumIn() {
		t := typ.In(i)
		if typ.IsVariadic() && i == typ.NumIn()-1 && t.Elem().Kind() == reflect.Struct && t.Elem() != tensorType || isOptions(t) {
			o := t.Elem()
			for _, field := range reflect.VisibleFields(o) {
				if field.IsExported() && len(field.Index) == 1 {
					fn.params = append(fn.params, place{name: prefix + field.Name, param: i, elem: -1, field: field.Name, typ: field.Type})
				}
			}
			continue
		}
		fn.params = append(fn.params, place{name: fmt.Sprintf("%sa%d", prefix, i), param: i, elem: -1, typ: t, needed: true})
	}
	return fn.index()
}

var tensorType = reflect.TypeFor[torch.Tensor]()

func isOptions(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && strings.HasSuffix(t.Elem().Name(), "Options")
}

func (f function) index() function {
	f.named = map[string]int{}
	for i, p := range f.params {
		f.named[p.name] = i
	}
	return f
}

// misfit is the panic for values that no Go program could write there.
type misfit struct{ text string }

// call calls the function with those arguments whose names it knows.
func (f function) call(m *maker, args []Arg) []any {
	out := f.values(m, args)
	list := make([]any, len(out))
	for i, v := range out {
		list[i] = v.Interface()
	}
	return list
}

func (f function) values(m *maker, args []Arg) []reflect.Value {
	typ := f.fn.Type()
	in := make([]reflect.Value, typ.NumIn())
	for i := range in {
		in[i] = reflect.New(typ.In(i)).Elem()
	}
	if f.receiver.IsValid() {
		in[0].Set(f.receiver)
	}
	for _, a := range args {
		at, ok := f.named[a.Name]
		if !ok {
			continue
		}
		p := f.params[at]
		v := m.value(a.Value)
		place := in[p.param]
		switch {
		case p.field != "":
			place = f.options(place).FieldByName(p.field)
			if b, ok := v.(bool); ok && p.negate {
				v = !b
			}
		case typ.IsVariadic() && p.param == len(in)-1 && p.elem >= 0:
			if list, ok := v.([]any); ok { // all of them at once
				set(place, list)
				continue
			}
			if v == nil {
				continue
			}
			for place.Len() <= p.elem {
				place.Set(reflect.Append(place, reflect.Zero(place.Type().Elem())))
			}
			place = place.Index(p.elem)
		}
		set(place, v)
	}
	m.calling()
	if typ.IsVariadic() {
		return f.fn.CallSlice(in)
	}
	return f.fn.Call(in)
}

// options is the struct behind a parameter.
func (f function) options(at reflect.Value) reflect.Value {
	switch at.Kind() {
	case reflect.Pointer:
		if at.IsNil() {
			at.Set(reflect.New(at.Type().Elem()))
		}
		return at.Elem()
	case reflect.Slice:
		if at.Len() == 0 {
			at.Set(reflect.Append(at, reflect.Zero(at.Type().Elem())))
		}
		return at.Index(0)
	}
	return at
}

var reductions = []torch.Reduction{torch.ReductionNone, torch.ReductionMean, torch.ReductionSum}

// set stores v, converted as a program would write it.
func set(place reflect.Value, v any) {
	typ, value := place.Type(), reflect.ValueOf(v)
	switch {
	case v == nil:
		place.SetZero()
		return
	case value.Type().AssignableTo(typ):
		place.Set(value)
		return
	case typ == reflect.TypeFor[torch.Reduction]() && value.Kind() == reflect.Int:
		if i := int(value.Int()); i >= 0 && i < len(reductions) {
			place.Set(reflect.ValueOf(reductions[i]))
			return
		}
		panic(unmade{"Go has no such reduction"})
	case typ.Kind() == reflect.Pointer:
		p := reflect.New(typ.Elem())
		set(p.Elem(), v)
		place.Set(p)
		return
	case typ.Kind() == reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		place.Set(reflect.MakeSlice(typ, len(list), len(list)))
		for i, x := range list {
			set(place.Index(i), x)
		}
		return
	case typ.Kind() == value.Kind() && value.CanConvert(typ) || numeric(typ.Kind()) && numeric(value.Kind()):
		place.Set(value.Convert(typ))
		return
	}
	panic(misfit{fmt.Sprintf("a %T does not fit a %v", v, typ)})
}

func numeric(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

// with calls the function with a value in the place of one of the arguments.
func (f function) with(m *maker, args []Arg, name string, v any) []reflect.Value {
	list := []Arg{{name, given{v}}}
	for _, a := range args {
		if a.Name != name {
			list = append(list, a)
		}
	}
	return f.values(m, list)
}

// given is a value that is made already.
type given struct{ v any }
