package cgo

import (
	"encoding/binary"
	"math"
)

// Tags of a boxed value on the wire; shim/boxed.cc has the same.
const (
	boxNone = iota
	boxTensor
	boxInt
	boxFloat
	boxBool
	boxComplex
	boxString
	boxList
	boxDType
	boxDevice
	boxLayout
	boxFormat
	boxGenerator
	boxTuple
	boxDict
)

// BoxNone adds None to a boxed call.
func (c *Call) BoxNone() { c.put(boxNone) }

// BoxTensor adds a tensor.
func (c *Call) BoxTensor(h *Handle) { c.put(boxTensor); c.Tensor(h) }

// BoxInt adds an int.
func (c *Call) BoxInt(v int64) { c.put(boxInt); c.put(uint64(v)) }

// BoxFloat adds a float.
func (c *Call) BoxFloat(v float64) { c.put(boxFloat); c.Float(v) }

// BoxBool adds a bool.
func (c *Call) BoxBool(v bool) { c.put(boxBool); c.Bool(v) }

// BoxComplex adds a complex number.
func (c *Call) BoxComplex(v complex128) {
	c.put(boxComplex)
	c.Float(real(v))
	c.Float(imag(v))
}

// BoxStr adds a string.
func (c *Call) BoxStr(s string) { c.put(boxString); c.Str(s) }

// BoxList announces n boxed values that make up a list.
func (c *Call) BoxList(n int) { c.put(boxList); c.put(uint64(n)) }

// BoxTuple announces n boxed values that make up a tuple.
func (c *Call) BoxTuple(n int) { c.put(boxTuple); c.put(uint64(n)) }

// BoxDict announces n pairs of boxed values that make up a dict: each key before its value.
func (c *Call) BoxDict(n int) { c.put(boxDict); c.put(uint64(n)) }

// BoxDType, BoxDevice, BoxLayout and BoxFormat add an enumerator.
func (c *Call) BoxDType(code int64) { c.put(boxDType); c.Code(code) }

// BoxDevice adds a device.
func (c *Call) BoxDevice(code int64) { c.put(boxDevice); c.Code(code) }

// BoxLayout adds a layout.
func (c *Call) BoxLayout(code int64) { c.put(boxLayout); c.Code(code) }

// BoxFormat adds a memory format.
func (c *Call) BoxFormat(code int64) { c.put(boxFormat); c.Code(code) }

// BoxGenerator adds a generator.
func (c *Call) BoxGenerator(h *Handle) { c.put(boxGenerator); c.Object(h) }

// Tuple is several values that belong together. It is a type of its own because a list is
// something else.
type Tuple []any

// List is a list that knows what it is of: see [Call.Typed].
type List struct {
	Of     Element
	Values []any
}

// Dict is a dict with its keys in their order.
type Dict struct {
	Key, Of      Element
	Keys, Values []any
}

// Element says what a list or a dict is of.
type Element uint64

// What a list or a dict is of. OfAny is everything else.
const (
	OfAny     Element = boxNone
	OfTensors Element = boxTensor
	OfInts    Element = boxInt
	OfFloats  Element = boxFloat
	OfBools   Element = boxBool
	OfStrings Element = boxString
)

// DeviceCode is a device as it travels: see [DeviceName].
type DeviceCode uint64

// Boxed takes the results of a boxed call: nil, *Handle, int64, float64, bool,
// complex128, string, DeviceCode, []any, Tuple or Dict each.
func (c *Call) Boxed() []any {
	r := boxReader{Reader{c.lent(1)}, c.frame.scope, false}
	return r.values(c.IntResult(0))
}

// Typed is [Call.Boxed] with a List in the place of each []any.
func (c *Call) Typed() []any {
	r := boxReader{Reader{c.lent(1)}, c.frame.scope, true}
	return r.values(c.IntResult(0))
}

type boxReader struct {
	Reader
	scope uint64
	typed bool
}

func (r *boxReader) list() any {
	n, of := int(r.Next()), Element(r.Next())
	values := r.values(n)
	if r.typed {
		return List{of, values}
	}
	return values
}

func (r *boxReader) dict() Dict {
	n := int(r.Next())
	d := Dict{Key: Element(r.Next()), Of: Element(r.Next()), Keys: make([]any, n), Values: make([]any, n)}
	for i := range n {
		d.Keys[i] = r.value()
		d.Values[i] = r.value()
	}
	return d
}

func (r *boxReader) values(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = r.value()
	}
	return list
}

func (r *boxReader) value() any {
	switch r.Next() {
	case boxTensor:
		return adopt(r.Next(), r.scope)
	case boxInt:
		return int64(r.Next())
	case boxFloat:
		return math.Float64frombits(r.Next())
	case boxBool:
		return r.Next() != 0
	case boxComplex:
		re := math.Float64frombits(r.Next())
		return complex(re, math.Float64frombits(r.Next()))
	case boxString:
		return r.Text()
	case boxList:
		return r.list()
	case boxDevice:
		return DeviceCode(r.Next())
	case boxTuple:
		return Tuple(r.values(int(r.Next())))
	case boxDict:
		return r.dict()
	default:
		return nil
	}
}

// Reader reads a list of words that the shim wrote.
type Reader struct{ words []uint64 }

// Reader takes the list whose length is result i.
func (c *Call) Reader(i int) Reader { return Reader{c.Words(i)} }

// More tells whether there is anything left.
func (r *Reader) More() bool { return len(r.words) > 0 }

// Next is the next word.
func (r *Reader) Next() uint64 {
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// Text is the next text: its length in bytes comes first, then the bytes.
func (r *Reader) Text() string {
	n := int(r.Next())
	text := make([]byte, 0, n+7)
	for len(text) < n {
		text = binary.LittleEndian.AppendUint64(text, r.Next())
	}
	return string(text[:n])
}
