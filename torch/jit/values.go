package jit

import (
	"fmt"
	"reflect"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Tuple is a tuple of TorchScript's, a named one too. Where the schema says tuple, a []any is one as well.
type Tuple = cgo.Tuple

// value is a result as Go has it.
func value(v any) (any, error) {
	switch v := v.(type) {
	case *cgo.Handle:
		return bridge.Tensor[torch.Tensor](v), nil
	case int64:
		return int(v), nil
	case cgo.DeviceCode:
		return bridge.Device[torch.Device](uint64(v)), nil
	case cgo.Tuple:
		list, err := values(v)
		return Tuple(list), err
	case cgo.List:
		return listValue(v)
	case cgo.Dict:
		return dictValue(v)
	default:
		return v, nil
	}
}

// values turns all of them, also where one is refused: whoever gets the error closes the others.
func values(list []any) (_ []any, failed error) {
	for i, own := range list {
		v, err := value(own)
		if err != nil && failed == nil {
			failed = err
		}
		list[i] = v
	}
	if failed != nil {
		closeAll(list)
		return nil, failed
	}
	return list, nil
}

func listValue(l cgo.List) (any, error) {
	list, err := values(l.Values)
	if err != nil {
		return nil, err
	}
	switch l.Of {
	case cgo.OfTensors:
		return typed[torch.Tensor](list), nil
	case cgo.OfInts:
		return typed[int](list), nil
	case cgo.OfFloats:
		return typed[float64](list), nil
	case cgo.OfBools:
		return typed[bool](list), nil
	case cgo.OfStrings:
		return typed[string](list), nil
	default:
		return list, nil
	}
}

func typed[T any](list []any) []T {
	all := make([]T, len(list))
	for i, v := range list {
		all[i] = v.(T)
	}
	return all
}

func dictValue(d cgo.Dict) (any, error) {
	keys, err := values(d.Keys)
	if err == nil {
		d.Values, err = values(d.Values)
	} else {
		values(d.Values) //nolint:errcheck // the first error counts
		closeAll(d.Values)
	}
	if err != nil {
		return nil, err
	}
	switch d.Key {
	case cgo.OfStrings:
		return dictOf[string](d, keys), nil
	case cgo.OfInts:
		return dictOf[int](d, keys), nil
	case cgo.OfFloats:
		return dictOf[float64](d, keys), nil
	case cgo.OfBools:
		return dictOf[bool](d, keys), nil
	default:
		closeAll(keys)
		closeAll(d.Values)
		return nil, fmt.Errorf("jit: a dict whose keys are no texts and no numbers cannot be returned to Go")
	}
}

func dictOf[K comparable](d cgo.Dict, keys []any) any {
	switch d.Of {
	case cgo.OfTensors:
		return mapOf[K, torch.Tensor](keys, d.Values)
	case cgo.OfInts:
		return mapOf[K, int](keys, d.Values)
	case cgo.OfFloats:
		return mapOf[K, float64](keys, d.Values)
	case cgo.OfBools:
		return mapOf[K, bool](keys, d.Values)
	case cgo.OfStrings:
		return mapOf[K, string](keys, d.Values)
	}
	all := make(map[K]any, len(keys))
	for i, key := range keys {
		all[key.(K)] = d.Values[i]
	}
	return all
}

func mapOf[K comparable, V any](keys, list []any) map[K]V {
	all := make(map[K]V, len(keys))
	for i, key := range keys {
		all[key.(K)] = list[i].(V)
	}
	return all
}

// closeAll closes the tensors in a value.
func closeAll(v any) {
	switch v := v.(type) {
	case nil:
	case torch.Tensor:
		v.Close()
	default:
		x := reflect.ValueOf(v)
		switch x.Kind() {
		case reflect.Slice:
			for i := range x.Len() {
				closeAll(x.Index(i).Interface())
			}
		case reflect.Map:
			for _, key := range x.MapKeys() {
				closeAll(x.MapIndex(key).Interface())
			}
		}
	}
}

// describe says what sort of value it is.
func describe(v any) string {
	if v == nil {
		return "None"
	}
	return fmt.Sprintf("%T", v)
}
