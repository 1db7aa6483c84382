package nn

import (
	"reflect"

	"github.com/libtorch-go/libtorch/torch"
)

// Clone copies a module and all in it, with parameters and buffers of their own: Python's
// copy.deepcopy. Gradients are not copied. Tensors and modules that two fields of m share
// are shared in the copy too. Values that are not parts of a module, such as functions
// and random generators, are the same in both.
func Clone[M any](m M) M {
	c := newCloner(func(t torch.Tensor) (copied torch.Tensor) {
		create(func() { copied = t.Clone().SetRequiresGrad(t.RequiresGrad()) })
		return copied
	})
	return c.clone(reflect.ValueOf(&m).Elem()).Interface().(M)
}

type cloner struct {
	pointers map[any]reflect.Value
	tensors  map[torch.Tensor]torch.Tensor
	copy     func(t torch.Tensor) torch.Tensor
}

func newCloner(copy func(t torch.Tensor) torch.Tensor) *cloner {
	return &cloner{map[any]reflect.Value{}, map[torch.Tensor]torch.Tensor{}, copy}
}

// torchPath is the package whose structs are not modules.
var torchPath = tensorType.PkgPath()

func (c *cloner) clone(v reflect.Value) reflect.Value {
	if t, ok := asTensor(v); ok {
		return reflect.ValueOf(c.tensor(t))
	}
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			copied := reflect.New(v.Type()).Elem()
			copied.Set(c.clone(v.Elem()))
			return copied
		}
	case reflect.Pointer:
		if !v.IsNil() && holdsModules(v.Elem()) && v.Elem().Type().PkgPath() != torchPath {
			return c.pointer(v)
		}
	case reflect.Map:
		if !v.IsNil() && holdsModules(v) {
			copied := reflect.MakeMapWithSize(v.Type(), v.Len())
			for _, key := range v.MapKeys() {
				copied.SetMapIndex(key, c.clone(v.MapIndex(key)))
			}
			return copied
		}
	case reflect.Slice:
		if !v.IsNil() && holdsModules(v) {
			copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			for i := range v.Len() {
				copied.Index(i).Set(c.clone(v.Index(i)))
			}
			return copied
		}
	case reflect.Struct, reflect.Array:
		copied := reflect.New(v.Type()).Elem()
		copied.Set(v)
		c.within(copied)
		return copied
	}
	return v
}

func (c *cloner) pointer(v reflect.Value) reflect.Value {
	copied, ok := c.pointers[v.Interface()]
	if !ok {
		copied = reflect.New(v.Type().Elem())
		c.pointers[v.Interface()] = copied // before its parts are copied, because they may refer to it
		copied.Elem().Set(v.Elem())
		c.within(copied.Elem())
	}
	return copied
}

// within copies the parts of a struct, slice, array or map that is a copy itself.
func (c *cloner) within(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				f.Set(c.clone(f))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(c.clone(v.Index(i)))
		}
	default:
		v.Set(c.clone(v))
	}
}

func (c *cloner) tensor(t torch.Tensor) torch.Tensor {
	if !t.Defined() {
		return t
	}
	copied, ok := c.tensors[t]
	if !ok {
		copied = c.copy(t)
		c.tensors[t] = copied
	}
	return copied
}
