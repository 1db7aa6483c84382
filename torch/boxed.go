package torch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
)

// Named is an argument of [Call] given by its name.
type Named struct {
	Name  string
	Value any
}

// Arg names an argument for [Call].
func Arg(name string, value any) Named { return Named{name, value} }

// Call runs any operator of libtorch's dispatcher by name: those without a Go method, out
// variants, and the operators of libraries loaded into the process. name is
// "namespace::operator.overload" ("aten" where no namespace is said). Arguments are
// positional, then named by [Arg]; the schema's defaults fill the rest.
//
//	out := torch.Call("aten::add.out", x, y, torch.Arg("out", z))
//
// A value is nil, a Tensor, a number, a bool, a string, a DType, Device, Layout,
// MemoryFormat or *Generator, or a slice or a map of these. Results are Tensor, int64, float64,
// bool, complex128, string, Device, []Tensor, []any, map[any]any or nil. Generated methods are faster.
func Call(name string, args ...any) []any {
	if !strings.Contains(name, "::") {
		name = "aten::" + name
	}
	operator, overload, _ := strings.Cut(name, ".")
	positional, named := split(args)
	var c cgo.Call
	c.Begin(cgo.OpBoxed)
	c.Str(operator)
	c.Str(overload)
	c.List(len(positional))
	for _, v := range positional {
		box(&c, v, 0)
	}
	c.List(len(named))
	for _, n := range named {
		c.Str(n.Name)
		box(&c, n.Value, 0)
	}
	if err := c.RunBack(); err != nil {
		err.Op = strings.TrimPrefix(name, "aten::")
		panic(newError(err))
	}
	return unboxAll(c.Boxed())
}

func split(args []any) (positional []any, named []Named) {
	for _, v := range args {
		if n, ok := v.(Named); ok {
			named = append(named, n)
			continue
		}
		if len(named) > 0 {
			throw("call", KindType, "a positional argument follows the named one %q", named[len(named)-1].Name)
		}
		positional = append(positional, v)
	}
	return positional, named
}

// deepest is how far lists may nest: no operator needs more, and a list that contains
// itself ends long before the stack does.
const deepest = 8

// box adds a value that is inside depth lists.
func box(c *cgo.Call, v any, depth int) {
	switch v := v.(type) {
	case nil:
		c.BoxNone()
	case Tensor:
		c.BoxTensor(v.h)
	case int:
		c.BoxInt(int64(v))
	case int64:
		c.BoxInt(v)
	case float64:
		c.BoxFloat(v)
	case float32:
		c.BoxFloat(float64(v))
	case bool:
		c.BoxBool(v)
	case complex128:
		c.BoxComplex(v)
	case string:
		c.BoxStr(v)
	case DType:
		c.BoxDType(v.code())
	case Device:
		c.BoxDevice(v.code())
	case Layout:
		c.BoxLayout(v.code())
	case MemoryFormat:
		c.BoxFormat(v.code())
	case *Generator:
		boxGenerator(c, v)
	case []Tensor:
		boxList(c, v, depth)
	case []int:
		boxList(c, v, depth)
	case []float64:
		boxList(c, v, depth)
	case []bool:
		boxList(c, v, depth)
	case []string:
		boxList(c, v, depth)
	case []any:
		boxList(c, v, depth)
	case cgo.Tuple:
		checkDepth(c, depth)
		c.BoxTuple(len(v))
		for _, own := range v {
			box(c, own, depth+1)
		}
	default:
		boxOther(c, v, depth)
	}
}

// boxOther adds a slice or a map of any type.
func boxOther(c *cgo.Call, v any, depth int) {
	x := reflect.ValueOf(v)
	switch x.Kind() {
	case reflect.Slice:
		checkDepth(c, depth)
		c.BoxList(x.Len())
		for i := range x.Len() {
			box(c, x.Index(i).Interface(), depth+1)
		}
	case reflect.Map:
		checkDepth(c, depth)
		keys := x.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(sortable(a), sortable(b)) })
		c.BoxDict(len(keys))
		for _, key := range keys {
			box(c, key.Interface(), depth+1)
			box(c, x.MapIndex(key).Interface(), depth+1)
		}
	default:
		c.Abandon()
		throw("call", KindType, "a value of type %T cannot be passed to an operator", v)
	}
}

// sortable is a key as a text by which keys are in order: the same map gives the same dict.
func sortable(key reflect.Value) string { return fmt.Sprintf("%20v", key) }

func checkDepth(c *cgo.Call, depth int) {
	if depth == deepest {
		c.Abandon()
		throw("call", KindValue, "lists nest more than %d deep", deepest)
	}
}

func boxGenerator(c *cgo.Call, g *Generator) {
	if g == nil {
		c.BoxNone()
		return
	}
	c.BoxGenerator(g.h)
}

func boxList[T any](c *cgo.Call, list []T, depth int) {
	checkDepth(c, depth)
	c.BoxList(len(list))
	for _, v := range list {
		box(c, v, depth+1)
	}
}

func unbox(v any) any {
	switch v := v.(type) {
	case *cgo.Handle:
		return Tensor{v}
	case cgo.DeviceCode:
		return deviceOf(uint64(v))
	case cgo.Tuple:
		return unboxAll(v)
	case cgo.Dict:
		m := make(map[any]any, len(v.Keys))
		for i, key := range v.Keys {
			m[unbox(key)] = unbox(v.Values[i])
		}
		return m
	case []any:
		return unboxList(v)
	default:
		return v
	}
}

func unboxAll(list []any) []any {
	for i, v := range list {
		list[i] = unbox(v)
	}
	return list
}

// unboxList turns a list that holds only tensors into a []Tensor.
func unboxList(list []any) any {
	ts := make([]Tensor, 0, len(list))
	for _, v := range list {
		h, ok := v.(*cgo.Handle)
		if !ok {
			return unboxAll(list)
		}
		ts = append(ts, Tensor{h})
	}
	return ts
}
