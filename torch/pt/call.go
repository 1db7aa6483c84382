package pt

import (
	"fmt"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
)

// call is a call of a class or a function, about to be understood.
type call struct {
	d     *decoder
	o     *pickle.Object
	depth int
	n     int // values that it unfolds to
	items bool
	state bool
}

// failed is the error for arguments that do not fit.
func (c *call) failed(format string, args ...any) error {
	return malformed("%v: %w", c.o.Class, fmt.Errorf(format, args...))
}

// leftover refuses what nobody asked for: items set in a tensor, attributes of a size.
func (c *call) leftover() error {
	switch {
	case len(c.o.List) > 0:
		return c.failed("values are appended to it")
	case len(c.o.Dict) > 0 && !c.items:
		return c.failed("items are set in it")
	case c.o.State != nil && !c.state:
		return c.failed("it is built from a state")
	}
	return nil
}

// count refuses calls with fewer or more arguments.
func (c *call) count(least, most int) error {
	if n := len(c.o.Args); n < least || n > most {
		return c.failed("%d arguments, expected %d to %d", n, least, most)
	}
	return nil
}

// value is an argument as a Go value, nil where there are fewer.
func (c *call) value(i int) (any, error) {
	if i >= len(c.o.Args) {
		return nil, nil
	}
	v, n, err := c.d.value(c.o.Args[i], c.depth)
	c.n += n
	return v, err
}

// as is an argument of a type.
func as[T any](c *call, i int) (v T, err error) {
	got, err := c.value(i)
	if err != nil {
		return v, err
	}
	v, ok := got.(T)
	if !ok {
		return v, c.failed("argument %d is %s, expected a %T", i, kind(got), v)
	}
	return v, nil
}

// flag is a bool, which old files have as a number.
func (c *call) flag(i int) (bool, error) {
	got, err := c.value(i)
	if n, ok := got.(int); ok && (n == 0 || n == 1) {
		return n == 1, err
	}
	b, ok := got.(bool)
	if err == nil && !ok {
		err = c.failed("argument %d is %s, expected a bool", i, kind(got))
	}
	return b, err
}

// ints is a tuple of integers, or a torch.Size.
func (c *call) ints(i int) ([]int, error) {
	got, err := c.value(i)
	if err != nil {
		return nil, err
	}
	if size, ok := got.(Size); ok {
		return size, nil
	}
	list, ok := integers(got)
	if !ok {
		return nil, c.failed("argument %d is %s, expected a tuple of integers", i, kind(got))
	}
	return list, nil
}

// integers reads a tuple or a list of integers.
func integers(v any) ([]int, bool) {
	items, ok := v.(Tuple)
	if !ok {
		if items, ok = v.([]any); !ok {
			return nil, false
		}
	}
	list := make([]int, len(items))
	for i, item := range items {
		if list[i], ok = item.(int); !ok {
			return nil, false
		}
	}
	return list, true
}

// tensor is an argument that is a tensor. In the first pass it is undefined.
func (c *call) tensor(i int) (torch.Tensor, error) {
	got, err := c.value(i)
	if err != nil {
		return torch.Tensor{}, err
	}
	t, ok := tensorOf(got)
	if !ok {
		return t, c.failed("argument %d is %s, expected a tensor", i, kind(got))
	}
	return t, nil
}

// storage is the storage that an argument refers to, and how many bytes into it the view begins.
func (c *call) storage(i int) (*storage, torch.DType, int64, error) {
	ref, ok := c.o.Args[i].(*pickle.Ref)
	if !ok {
		return nil, torch.DType{}, 0, c.failed("argument %d is no storage", i)
	}
	id, err := parseRef(ref)
	if err != nil {
		return nil, id.dtype, 0, err
	}
	s := c.d.storages[id.key]
	if s == nil {
		return nil, id.dtype, 0, c.failed("the file has no storage %q", id.key)
	}
	return s, id.dtype, id.from, nil
}

// make makes tensors in the second pass. What panics within is an error of the file's.
func (c *call) make(fn func() torch.Tensor) (t torch.Tensor, err error) {
	if !c.d.building {
		return t, nil
	}
	broken := torch.Try(func() {
		torch.Scope(func() { t = fn().Keep() })
	})
	if broken != nil {
		return t, c.failed("%w", broken)
	}
	c.d.made = append(c.d.made, t)
	return t, nil
}

// refID is what a reference to a storage says.
type refID struct {
	key        string
	dtype      torch.DType
	size       int64 // bytes of the whole storage
	from, view int64 // a legacy view: where it begins, and its size; -1 where there is none
}

// parseRef reads the tuple ("storage", class, key, location, elements), behind which legacy files have the place
// of a view.
func parseRef(r *pickle.Ref) (id refID, err error) {
	tuple, ok := r.ID.(*pickle.Tuple)
	if !ok || len(*tuple) < 5 || len(*tuple) > 6 || (*tuple)[0] != "storage" {
		return id, malformed("a reference is not to a storage")
	}
	t := *tuple
	class, ok := t[1].(pickle.Global)
	if !ok {
		return id, malformed("a storage has no class")
	}
	id.dtype, ok = storageTypes[class.Name]
	if class.Name == "UntypedStorage" {
		id.dtype, ok = torch.Uint8, true
	}
	key, isText := t[2].(string)
	n, isCount := t[4].(int)
	item := int64(id.dtype.Size())
	const most = 1 << 58
	if !ok || !isText || !isCount || n < 0 || n > most/int(item) {
		return id, malformed("a storage of class %v, key %s and %s elements", class, show(t[2]), show(t[4]))
	}
	id.key, id.size, id.view = key, int64(n)*item, -1
	if len(t) == 5 || t[5] == nil {
		return id, nil
	}
	view, ok := t[5].(*pickle.Tuple)
	if !ok || len(*view) != 3 {
		return id, malformed("a view of storage %q is no tuple of three", key)
	}
	from, okFrom := (*view)[1].(int)
	size, okSize := (*view)[2].(int)
	if !okFrom || !okSize || from < 0 || size < 0 || from > n || size > n-from {
		return id, malformed("a view of storage %q lies outside of it", key)
	}
	id.from, id.view = int64(from), int64(size)*item
	return id, nil
}
