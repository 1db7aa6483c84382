package data

import (
	"fmt"
	"reflect"

	"github.com/libtorch-go/libtorch/torch"
)

// The loader frees the tensors of batches whose type it does not know. It finds them by
// walking through the exported fields and elements.

var tensorType = reflect.TypeFor[torch.Tensor]()

// replaceTensors replaces each tensor within *batch by fn of it.
func replaceTensors[B any](batch *B, fn func(torch.Tensor) torch.Tensor) {
	replace(reflect.ValueOf(batch).Elem(), fn)
}

func replace(v reflect.Value, fn func(torch.Tensor) torch.Tensor) {
	if v.Type() == tensorType {
		v.Set(reflect.ValueOf(fn(v.Interface().(torch.Tensor))))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				replace(v.Field(i), fn)
			}
		}
	case reflect.Array, reflect.Slice:
		if plain(v.Type().Elem().Kind()) {
			return
		}
		for i := range v.Len() {
			replace(v.Index(i), fn)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, replaced(v.MapIndex(key), fn))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			replace(v.Elem(), fn)
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(replaced(v.Elem(), fn))
		}
	}
}

// replaced returns a changed copy of a value that cannot be changed in place.
func replaced(v reflect.Value, fn func(torch.Tensor) torch.Tensor) reflect.Value {
	changed := reflect.New(v.Type()).Elem()
	changed.Set(v)
	replace(changed, fn)
	return changed
}

// plain tells whether values of a kind cannot hold other values.
func plain(k reflect.Kind) bool { return k <= reflect.Complex128 || k == reflect.String }

// hiddenField names a field of T in which the loader could not reach tensors; "" if there is none.
func hiddenField[T any]() string {
	_, field := survey(reflect.TypeFor[T](), map[reflect.Type]bool{})
	return field
}

// survey tells whether values of a type hold tensors, and names a field in which the
// loader could not reach them; "" if there is none. The contents of an interface are not
// known before it has a value.
func survey(t reflect.Type, seen map[reflect.Type]bool) (holds bool, hidden string) {
	if t == tensorType {
		return true, ""
	}
	if seen[t] {
		return false, ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Array, reflect.Slice, reflect.Map, reflect.Pointer:
		return survey(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			inside, out := survey(field.Type, seen)
			if inside && !field.IsExported() {
				out = fmt.Sprintf("%v.%s", t, field.Name)
			}
			if out != "" {
				return true, out
			}
			holds = holds || inside
		}
	}
	return holds, ""
}
