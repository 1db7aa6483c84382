package pt

import (
	"cmp"
	"fmt"
	"iter"
	"math/big"
	"reflect"
	"slices"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
)

// encoder makes a pickle of a Go value.
type encoder struct {
	tensors map[torch.Tensor]*pickle.Object
	dicts   map[*Dict]*pickle.Object // that are not plain
	plain   map[*Dict]*pickle.Dict
	notes   []*note
	order   []*part  // of storages, as they are written
	later   []func() // what waits for all calls
}

type stateDict = iter.Seq2[string, torch.Tensor]

// value converts a value. A detached tensor requires no gradients in the file.
func (e *encoder) value(v any, depth int) (any, error) {
	if depth > mostDepth {
		return nil, fmt.Errorf("values lie more than %d deep within each other; does one contain itself?", mostDepth)
	}
	switch v := v.(type) {
	case nil, bool, int, float64, string, *big.Int:
		return v, nil
	case []byte:
		return v, nil
	case torch.Tensor:
		return e.tensor(v, false)
	case Parameter:
		return e.parameter(v, depth)
	case Attributed:
		return e.attributed(v, depth)
	case torch.DType, torch.Device, torch.Layout, QScheme, Size, ByteArray, complex128, complex64, Class:
		return constant(v)
	case stateDict:
		return e.stateDict(v)
	case func(func(string, torch.Tensor) bool):
		return e.stateDict(v)
	case *Dict:
		return e.dict(v, depth)
	case *Set:
		items, err := e.list(v.Items, depth)
		return &pickle.Set{Items: items, Frozen: v.Frozen}, err
	case Tuple:
		items, err := e.list(v, depth)
		return pickle.Tuple(items), err
	case *Object:
		return e.object(v, depth)
	}
	return e.reflected(reflect.ValueOf(v), depth)
}

func global(module, name string) pickle.Global { return pickle.Global{Module: module, Name: name} }

func called(module, name string, args ...any) *pickle.Object {
	return &pickle.Object{Class: global(module, name), Args: args}
}

// constant converts what is no container and no plain value.
func constant(v any) (any, error) {
	switch v := v.(type) {
	case torch.DType:
		if v.IsZero() {
			return nil, fmt.Errorf("the zero DType is no dtype")
		}
		return global("torch", v.String()), nil
	case torch.Device:
		if v.Index() < 0 {
			return called("torch", "device", v.Type().String()), nil
		}
		return called("torch", "device", v.Type().String(), v.Index()), nil
	case torch.Layout:
		for name, layout := range layouts {
			if layout == v {
				return called("torch.serialization", "_get_layout", name), nil
			}
		}
		return nil, fmt.Errorf("the zero Layout is no layout")
	case QScheme:
		return global("torch", string(v)), nil
	case Size:
		return called("torch", "Size", ints(v)), nil
	case ByteArray:
		return called("__builtin__", "bytearray", []byte(v)), nil
	case complex64:
		return called("__builtin__", "complex", float64(real(v)), float64(imag(v))), nil
	case complex128:
		return called("__builtin__", "complex", real(v), imag(v)), nil
	case Class:
		return classOf(string(v)), nil
	}
	return nil, fmt.Errorf("a %T", v)
}

// classOf parts the name of a class from that of its module.
func classOf(name string) pickle.Global {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return global(name[:i], name[i+1:])
		}
	}
	return global("builtins", name)
}

func ints(list []int) pickle.Tuple {
	t := make(pickle.Tuple, len(list))
	for i, n := range list {
		t[i] = n
	}
	return t
}

func (e *encoder) list(from []any, depth int) ([]any, error) {
	list := make([]any, len(from))
	for i, v := range from {
		var err error
		if list[i], err = e.value(v, depth+1); err != nil {
			return nil, within(fmt.Sprint(i), err)
		}
	}
	return list, nil
}

// pathError is an error with the place of the value that it is about.
type pathError struct {
	path string
	err  error
}

// Error names the place first.
func (p *pathError) Error() string { return p.path + ": " + p.err.Error() }

// Unwrap is the error itself.
func (p *pathError) Unwrap() error { return p.err }

func within(key string, err error) error {
	if p, ok := err.(*pathError); ok {
		return &pathError{key + "." + p.path, p.err}
	}
	return &pathError{key, err}
}

func (e *encoder) items(from iter.Seq2[any, any], depth int) (list []pickle.Item, err error) {
	for key, value := range from {
		k, err := e.value(key, depth+1)
		if err != nil {
			return nil, within(show(key), err)
		}
		v, err := e.value(value, depth+1)
		if err != nil {
			return nil, within(fmt.Sprint(key), err)
		}
		list = append(list, pickle.Item{Key: k, Value: v})
	}
	return list, nil
}

func (e *encoder) dict(d *Dict, depth int) (any, error) {
	if d == nil {
		return nil, nil
	}
	if o, ok := e.dicts[d]; ok {
		return o, nil
	}
	if p, ok := e.plain[d]; ok {
		return p, nil
	}
	items, err := e.items(d.All(), depth)
	if err != nil {
		return nil, err
	}
	if d.Class == "" {
		own := pickle.Dict(items)
		e.plain[d] = &own
		return &own, nil
	}
	o := &pickle.Object{Class: classOf(d.Class), Dict: items}
	if d.Class == "collections.Counter" { // as Python writes it
		o.Args, o.Dict = pickle.Tuple{pickle.Dict(items)}, nil
	}
	if d.Attributes != nil {
		if o.State, err = e.dict(d.Attributes, depth+1); err != nil {
			return nil, err
		}
	}
	e.dicts[d] = o
	return o, nil
}

// stateDict is a module's: an OrderedDict of tensors that require no gradients, as in Python.
func (e *encoder) stateDict(tensors stateDict) (any, error) {
	o := called("collections", "OrderedDict")
	for name, t := range tensors {
		v, err := e.tensor(t, true)
		if err != nil {
			return nil, within(name, err)
		}
		o.Dict = append(o.Dict, pickle.Item{Key: name, Value: v})
	}
	return o, nil
}

func (e *encoder) object(v *Object, depth int) (any, error) {
	o := &pickle.Object{Class: classOf(v.Class), New: v.New}
	var err error
	if o.Args, err = e.list(v.Args, depth); err != nil {
		return nil, err
	}
	if o.List, err = e.list(v.List, depth); err != nil {
		return nil, err
	}
	if o.Dict, err = e.items((&Dict{items: v.Items}).All(), depth); err != nil {
		return nil, err
	}
	o.State, err = e.value(v.State, depth+1)
	return o, err
}

// reflected converts Go's other types: numbers of all kinds, slices, arrays and maps.
func (e *encoder) reflected(v reflect.Value, depth int) (any, error) {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint(), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = v.Index(i).Interface()
		}
		own, err := e.list(list, depth)
		if v.Kind() == reflect.Array {
			return pickle.Tuple(own), err
		}
		return own, err
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, compareKeys)
		items, err := e.items(func(yield func(any, any) bool) {
			for _, k := range keys {
				if !yield(k.Interface(), v.MapIndex(k).Interface()) {
					return
				}
			}
		}, depth)
		return pickle.Dict(items), err
	}
	return nil, fmt.Errorf("a %v has no counterpart in Python; write numbers, texts, tensors, slices, maps and the types of "+
		"package pt", v.Type())
}

// compareKeys puts the keys of a map into an order that is the same each time.
func compareKeys(a, b reflect.Value) int {
	for a.Kind() == reflect.Interface {
		a = a.Elem()
	}
	for b.Kind() == reflect.Interface {
		b = b.Elem()
	}
	if a.Kind() != b.Kind() {
		return cmp.Compare(a.Kind(), b.Kind())
	}
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
