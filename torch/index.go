package torch

import (
	"iter"
	"math"
	"reflect"

	"github.com/libtorch-go/libtorch/cgo"
)

// Further indices that [Tensor.Index] takes, beside numbers, tensors and nil.
type (
	// SliceRange takes every Step-th element from Start up to, not including, Stop along
	// one dimension. Make it with [Slice].
	SliceRange struct{ Start, Stop, Step int }
	dots       struct{}
)

// All takes a whole dimension, as ":" does in Python.
var All = SliceRange{0, math.MaxInt, 1}

// Ellipsis stands for all dimensions that have no index of their own, as "..." does in
// Python.
var Ellipsis dots

// Slice is the range of an index: Slice(stop), Slice(start, stop) or Slice(start, stop,
// step). Negative positions count from the end; [End] is the end itself. The step must be
// positive.
func Slice(bounds ...int) SliceRange {
	s := All
	switch len(bounds) {
	case 1:
		s.Stop = bounds[0]
	case 2:
		s.Start, s.Stop = bounds[0], bounds[1]
	case 3:
		s.Start, s.Stop, s.Step = bounds[0], bounds[1], bounds[2]
	default:
		throw("slice", KindIndex, "a slice has 1 to 3 bounds, got %d", len(bounds))
	}
	return s
}

// End is the end of a dimension in [Slice].
const End = math.MaxInt

// Index selects part of x, one index per dimension, as x[...] does in Python:
//
//	x.Index(0)                          // the first row
//	x.Index(torch.All, torch.Slice(2))  // the first two columns
//	x.Index(torch.Ellipsis, nil)        // with a new last dimension
//	x.Index(x.GtScalar(0))              // the positive elements
//	x.Index([]int{2, 0})                // rows 2 and 0
//
// An index is a number of any integer type (which removes the dimension), a [SliceRange],
// nil (a new dimension of size 1), [Ellipsis], a bool, a slice or an array of integers or bools,
// or a tensor of integers or booleans.
// Numbers, ranges, nil and Ellipsis give a view of x; tensors and lists a copy.
func (x Tensor) Index(indices ...any) Tensor {
	var c cgo.Call
	c.Begin(cgo.OpIndex)
	putTensor(&c, x)
	putIndices(&c, indices)
	return result1(&c)
}

// Place is a part of a tensor that can be written to: see [Tensor.At].
type Place struct {
	x       Tensor
	indices []any
}

// At is a part of x to write to, with the indices of [Tensor.Index]: what Python writes as
// x[0, :2] = 5 is
//
//	x.At(0, torch.Slice(2)).Set(5)
func (x Tensor) At(indices ...any) Place { return Place{x, indices} }

// Set overwrites the part with value, a tensor that broadcasts to it or a number. As in Python,
// a view (of numbers and ranges) takes a tensor of any dtype, a selection by tensors and lists
// only one of x's own.
func (p Place) Set(value any) { p.x.assign(value, false, p.indices) }

// Add adds value to the part; an element that is selected several times gets it each time.
func (p Place) Add(value any) { p.x.assign(value, true, p.indices) }

func (x Tensor) assign(value any, accumulate bool, indices []any) {
	var c cgo.Call
	c.Begin(cgo.OpSetIndex)
	putChanged(&c, x)
	if t, ok := value.(Tensor); ok {
		putTensor(&c, t)
		c.NoScalar()
	} else {
		putTensor(&c, Tensor{})
		putScalar(&c, value)
	}
	c.Bool(accumulate)
	putIndices(&c, indices)
	done(&c)
	if cgo.Racing {
		x.wrote(indices)
	}
}

// wrote tells the race detector which part of x was written to: all of it, for a selection by
// tensors and lists.
func (x Tensor) wrote(indices []any) {
	for _, index := range indices {
		switch index.(type) {
		case nil, int, SliceRange, dots:
		default:
			cgo.Wrote(x.h)
			return
		}
	}
	part := x.Index(indices...)
	cgo.Wrote(part.h)
	part.Close()
}

// Tags of an index, as in shim/index.cc.
const (
	pickNone = iota
	pickEllipsis
	pickInteger
	pickSlice
	pickBool
	pickTensor
	pickIntegers
	pickBools
)

func putIndices(c *cgo.Call, indices []any) {
	c.List(len(indices))
	for _, index := range indices {
		putIndex(c, index)
	}
}

func putIndex(c *cgo.Call, index any) {
	switch i := index.(type) {
	case int:
		c.Int(pickInteger)
		c.Int(i)
	case SliceRange:
		c.Int(pickSlice)
		c.Int(i.Start)
		c.Int(i.Stop)
		c.Int(i.Step)
	case nil:
		c.Int(pickNone)
	case dots:
		c.Int(pickEllipsis)
	case bool:
		c.Int(pickBool)
		c.Bool(i)
	case Tensor:
		c.Int(pickTensor)
		putTensor(c, i)
	case []int:
		c.Int(pickIntegers)
		c.Ints(i)
	case []bool:
		c.Int(pickBools)
		c.Bools(i)
	default:
		putRareIndex(c, i)
	}
}

// putRareIndex adds an index of one of Go's other integer types, or a list of them; types with names
// of their own and arrays are among these.
func putRareIndex(c *cgo.Call, index any) {
	switch v := reflect.ValueOf(index); {
	case v.CanInt():
		c.Int(pickInteger)
		c.Int(int(v.Int()))
	case v.CanUint():
		c.Int(pickInteger)
		c.Int(int(min(v.Uint(), math.MaxInt)))
	case v.Kind() == reflect.Bool:
		c.Int(pickBool)
		c.Bool(v.Bool())
	case isListOf(v, reflect.Value.CanInt), isListOf(v, reflect.Value.CanUint):
		c.Int(pickIntegers)
		c.List(v.Len())
		for i := range v.Len() {
			c.Int(int(v.Index(i).Convert(reflect.TypeFor[int]()).Int()))
		}
	case isListOf(v, func(e reflect.Value) bool { return e.Kind() == reflect.Bool }):
		c.Int(pickBools)
		c.List(v.Len())
		for i := range v.Len() {
			c.Bool(v.Index(i).Bool())
		}
	default:
		c.Abandon()
		throw("index", KindType, "an index is an int, a Slice, nil, Ellipsis, a bool, a list or a tensor; got %T", index)
	}
}

// isListOf reports a slice or an array of such elements.
func isListOf(v reflect.Value, element func(reflect.Value) bool) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && element(reflect.Zero(v.Type().Elem()))
}

// Rows ranges over the first dimension of x: each index with its part of x, a view.
func (x Tensor) Rows() iter.Seq2[int, Tensor] { return x.Each(0) }

// Each ranges over dimension dim of x: each index with its part of x, a view without that
// dimension. [Tensor.Unbind] makes all of them at once.
//
//	for i, column := range x.Each(-1) {
func (x Tensor) Each(dim int) iter.Seq2[int, Tensor] {
	return func(yield func(int, Tensor) bool) {
		for i := range x.Size(dim) {
			if !yield(i, x.Select(dim, i)) {
				return
			}
		}
	}
}
