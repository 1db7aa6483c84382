package pt

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
)

// builder makes a Go value of a call's arguments.
type builder func(*call) (any, error)

// allBuilders are the classes and functions that files may name: those of torch.load(weights_only=True), and
// frozenset.
func allBuilders() map[pickle.Global]builder {
	utils := "torch._utils"
	return map[pickle.Global]builder{
		{Module: utils, Name: "_rebuild_tensor"}:                        buildTensor(4, 4, -1),
		{Module: utils, Name: "_rebuild_tensor_v2"}:                     buildTensor(6, 7, 6),
		{Module: utils, Name: "_rebuild_tensor_v3"}:                     buildTensor(7, 8, 7),
		{Module: utils, Name: "_rebuild_parameter"}:                     buildParameter,
		{Module: utils, Name: "_rebuild_parameter_with_state"}:          buildParameter,
		{Module: utils, Name: "_rebuild_qtensor"}:                       buildQuantized,
		{Module: utils, Name: "_rebuild_nested_tensor"}:                 buildNested,
		{Module: utils, Name: "_rebuild_sparse_tensor"}:                 buildSparse,
		{Module: utils, Name: "_rebuild_meta_tensor_no_storage"}:        buildMeta,
		{Module: utils, Name: "_rebuild_device_tensor_from_cpu_tensor"}: buildMoved,
		{Module: "torch._tensor", Name: "_rebuild_from_type_v2"}:        buildAttributed,
		{Module: "collections", Name: "OrderedDict"}:                    buildOrdered,
		{Module: "collections", Name: "Counter"}:                        buildCounter,
		{Module: "torch", Name: "Size"}:                                 buildSize,
		{Module: "torch", Name: "device"}:                               buildDevice,
		{Module: "torch.serialization", Name: "_get_layout"}:            buildLayout,
		{Module: "_codecs", Name: "encode"}:                             buildBytes,
		{Module: "builtins", Name: "bytes"}:                             buildNoBytes,
		{Module: "builtins", Name: "bytearray"}:                         buildByteArray,
		{Module: "builtins", Name: "set"}:                               buildSet,
		{Module: "builtins", Name: "frozenset"}:                         buildSet,
		{Module: "builtins", Name: "complex"}:                           buildComplex,
	}
}

// errNested is the error for what Python permits and is not read or written here.
var errNested = errors.New("a nested tensor is not supported here: save the list of its parts, which unbind returns")

// jagged is where Python makes nested tensors of that layout, classes and all.
const jagged = "torch.nested._internal.nested_tensor"

func buildNested(*call) (any, error) { return nil, errNested }

func buildOrdered(c *call) (any, error) {
	if err := c.count(0, 1); err != nil {
		return nil, err
	}
	dict := &Dict{Class: "collections.OrderedDict"}
	if len(c.o.Args) == 1 { // a list of pairs, as Python 2 wrote it
		pairs, err := as[[]any](c, 0)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			pair, ok := p.([]any)
			if t, isTuple := p.(Tuple); isTuple {
				pair, ok = t, true
			}
			if !ok || len(pair) != 2 {
				return nil, c.failed("an item is %s, expected a pair", kind(p))
			}
			if err := hashable(pair[0]); err != nil {
				return nil, err
			}
			dict.Set(pair[0], pair[1])
		}
	}
	return dict, c.fill(dict)
}

// fill takes the items that were set, and the attributes.
func (c *call) fill(dict *Dict) error {
	c.items, c.state = true, true
	n, err := c.d.fill(dict, c.o.Dict, c.depth)
	if err != nil {
		return err
	}
	c.n += n
	if c.o.State == nil {
		return nil
	}
	state, n, err := c.d.value(c.o.State, c.depth)
	if err != nil {
		return err
	}
	c.n += n
	own, ok := state.(*Dict)
	if !ok {
		return c.failed("its attributes are %s, expected a dict", kind(state))
	}
	dict.Attributes = own
	return nil
}

func buildCounter(c *call) (any, error) {
	if err := c.count(0, 1); err != nil {
		return nil, err
	}
	dict := &Dict{Class: "collections.Counter"}
	if len(c.o.Args) == 1 {
		counts, err := as[*Dict](c, 0)
		if err != nil {
			return nil, err
		}
		for k, v := range counts.All() {
			dict.Set(k, v)
		}
	}
	return dict, c.fill(dict)
}

func buildSize(c *call) (any, error) {
	if err := c.count(1, 1); err != nil {
		return nil, err
	}
	list, err := c.ints(0)
	return Size(list), err
}

func buildDevice(c *call) (any, error) {
	if err := c.count(1, 2); err != nil {
		return nil, err
	}
	name, err := as[string](c, 0)
	if err != nil {
		return nil, err
	}
	if len(c.o.Args) == 2 {
		i, err := as[int](c, 1)
		if err != nil {
			return nil, err
		}
		name = fmt.Sprintf("%s:%d", name, i)
	}
	d, err := torch.ParseDevice(name)
	if err != nil {
		return nil, c.failed("%w", err)
	}
	return d, nil
}

var layouts = map[string]torch.Layout{
	"torch.strided": torch.Strided, "torch.sparse_coo": torch.Sparse, "torch.sparse_csr": torch.SparseCSR,
	"torch.sparse_csc": torch.SparseCSC, "torch.sparse_bsr": torch.SparseBSR, "torch.sparse_bsc": torch.SparseBSC,
	"torch.jagged": torch.Jagged, "torch._mkldnn": torch.MKLDNN,
}

func buildLayout(c *call) (any, error) {
	if err := c.count(1, 1); err != nil {
		return nil, err
	}
	name, err := as[string](c, 0)
	if err != nil {
		return nil, err
	}
	layout, ok := layouts[name]
	if !ok {
		return nil, c.failed("%s is no layout", show(name))
	}
	return layout, nil
}

// buildBytes is bytes as protocol 2 has them: a text of letters below 256.
func buildBytes(c *call) (any, error) {
	if err := c.count(2, 2); err != nil {
		return nil, err
	}
	text, err := as[string](c, 0)
	if err != nil {
		return nil, err
	}
	if c.o.Args[1] != "latin1" && c.o.Args[1] != "latin-1" {
		return nil, c.failed("the encoding %s, expected latin1", show(c.o.Args[1]))
	}
	b := make([]byte, 0, len(text))
	for _, letter := range text {
		if letter > 0xff {
			return nil, c.failed("a text that is not in latin1")
		}
		b = append(b, byte(letter))
	}
	return b, nil
}

// buildNoBytes is how protocol 2 has bytes where there are none.
func buildNoBytes(c *call) (any, error) { return []byte{}, c.count(0, 0) }

func buildByteArray(c *call) (any, error) {
	if err := c.count(0, 2); err != nil {
		return nil, err
	}
	switch len(c.o.Args) {
	case 0:
		return ByteArray{}, nil
	case 2:
		b, err := buildBytes(c)
		if err != nil {
			return nil, err
		}
		return ByteArray(b.([]byte)), nil
	}
	b, err := as[[]byte](c, 0)
	return ByteArray(b), err
}

func buildSet(c *call) (any, error) {
	if err := c.count(0, 1); err != nil {
		return nil, err
	}
	set := &Set{Frozen: c.o.Class.Name == "frozenset"}
	if len(c.o.Args) == 0 {
		return set, nil
	}
	items, err := as[[]any](c, 0)
	if err != nil {
		return nil, err
	}
	set.Items = items
	return set, eachOf(items, hashable)
}

func buildComplex(c *call) (any, error) {
	if err := c.count(2, 2); err != nil {
		return nil, err
	}
	re, err := as[float64](c, 0)
	if err != nil {
		return nil, err
	}
	im, err := as[float64](c, 1)
	return complex(re, im), err
}
