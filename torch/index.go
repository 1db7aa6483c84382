package torch

import (
	"iter"
	"math"
	"reflect"

	"github.com/libtorch-go/libtorch/cgo"
)

// What [Tensor.Index] understands besides numbers, tensors and nil.
type (
	// SliceRange takes every Step-th element from Start up to, not including, Stop along
	// one dimension. Make it with [Slice].
	SliceRange struct{ Start, Stop, Step int }
	dots       struct{}
)

// All takes a whole dimension, as ":" does in Python.
var All = SliceRange{0, math.MaxInt, 1}

// Ellipsis stands for as many whole dimensions as are left over, as "..." does in Python.
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
// nil (a new dimension of size 1), [Ellipsis], a bool, a []int or []bool, or a tensor of
// integers or booleans.
// Numbers, ranges, nil and Ellipsis give a view of x; tensors and lists a copy.
func (x Tensor) Index(indices ...any) Tensor {
	return Scope1(func() Tensor {
		view, picks := x.narrow(indices)
		if picks == nil {
			return view
		}
		return view.indexTensor(picks)
	})
}

// SetIndex overwrites the selected part of x with value, a tensor that broadcasts to it or
// a number.
func (x Tensor) SetIndex(value any, indices ...any) {
	Scope(func() { x.assign(value, false, indices) })
}

// AddIndex adds value to the selected part of x; an element that is selected several times
// gets it each time.
func (x Tensor) AddIndex(value any, indices ...any) {
	Scope(func() { x.assign(value, true, indices) })
}

func (x Tensor) assign(value any, accumulate bool, indices []any) {
	view, picks := x.narrow(indices)
	v, ok := value.(Tensor)
	if !ok {
		v = TensorOptions{DType: x.DType(), Device: x.Device()}.Full(nil, value)
	}
	for v.Dim() > 0 && v.Size(0) == 1 { // leading sizes of 1 fit anywhere, as in Python
		v = v.SqueezeDim(0)
	}
	switch {
	case picks != nil:
		view.indexPut(picks, v.To(x.DType()), accumulate)
	case accumulate:
		view.AddInPlace(v)
	default:
		view.CopyInPlace(v)
	}
}

// narrow applies the indices that give views; what remains are the tensors to pick by, one
// per dimension of the view (undefined: all), or nil if there are none.
func (x Tensor) narrow(indices []any) (view Tensor, picks []Tensor) {
	view = x
	dim, picking := 0, false
	skip := x.Dim() - consumed(indices)
	if skip < 0 {
		throw("index", KindIndex, "too many indices: a tensor of %d dimensions has no room for %d", x.Dim(), x.Dim()-skip)
	}
	for _, index := range indices {
		switch i := index.(type) {
		case int:
			view = view.Select(dim, i)
			continue
		case SliceRange:
			if i.Step <= 0 {
				throw("index", KindValue, "the step of a slice must be positive, got %d", i.Step)
			}
			if i != All {
				view = view.slice(dim, i)
			}
			picks = append(picks, Tensor{})
		case nil:
			view = view.Unsqueeze(dim)
			picks = append(picks, Tensor{})
		case dots:
			for range skip {
				picks = append(picks, Tensor{})
			}
			dim += skip
			continue
		default:
			if at, whole := wholeNumber(i); whole {
				view = view.Select(dim, at)
				continue
			}
			pick := asPick(i)
			switch used := width(pick); {
			case used == 0: // all or nothing of a new dimension
				view, pick = view.Unsqueeze(dim), pick.Unsqueeze(0)
			case pick.Dim() == 0: // an index like an int
				view = view.Select(dim, pick.Int())
				continue
			default:
				dim += used - 1
			}
			picks = append(picks, pick.To(x.Device()))
			picking = true
		}
		dim++
	}
	if !picking {
		return view, nil
	}
	return view, picks
}

// consumed counts the dimensions that the indices use up.
func consumed(indices []any) (n int) {
	for _, index := range indices {
		switch i := index.(type) {
		case nil, dots, bool:
		case Tensor:
			n += width(i)
		default:
			n++
		}
	}
	return n
}

// width is how many dimensions a picking tensor uses up: a mask one for each of its own.
func width(pick Tensor) int {
	if pick.DType() == Bool || pick.DType() == Uint8 {
		return pick.Dim()
	}
	return 1
}

// wholeNumber is an index of one of Go's other integer types.
func wholeNumber(index any) (at int, ok bool) {
	switch index.(type) {
	case int8, int16, int32, int64:
		return int(reflect.ValueOf(index).Int()), true
	case uint, uint8, uint16, uint32, uint64:
		return int(min(reflect.ValueOf(index).Uint(), math.MaxInt)), true
	}
	return 0, false
}

func asPick(index any) Tensor {
	switch i := index.(type) {
	case Tensor:
		return i
	case []int:
		return FromSlice(i)
	case []int64:
		return FromSlice(i)
	case []bool:
		return FromSlice(i)
	case bool:
		return FromValue(i)
	}
	throw("index", KindType, "an index is an int, a Slice, nil, Ellipsis, a bool, a list or a tensor; got %T", index)
	return Tensor{}
}

func (x Tensor) slice(dim int, r SliceRange) Tensor {
	var c cgo.Call
	c.Begin(cgo.OpSliceTensor)
	putTensor(&c, x)
	c.Int(dim)
	c.OptInt(&r.Start)
	c.OptInt(&r.Stop)
	c.Int(r.Step)
	return result1(&c)
}

func (x Tensor) indexTensor(picks []Tensor) Tensor {
	var c cgo.Call
	c.Begin(cgo.OpIndexTensor)
	putTensor(&c, x)
	putTensors(&c, picks)
	return result1(&c)
}

func (x Tensor) indexPut(picks []Tensor, value Tensor, accumulate bool) {
	var c cgo.Call
	c.Begin(cgo.OpIndexPutInPlace)
	putTensor(&c, x)
	putTensors(&c, picks)
	putTensor(&c, value)
	c.Bool(accumulate)
	done(&c)
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
