package functional

import (
	"math"
	"reflect"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// Size is the size of a window or a step in each of the spatial dimensions, as a field of
// options: an int, the same for all, or a []int or [2]int and the like with one for each. Nil is
// the default. Anything else is an error that says what was expected.
type Size = any

// Integer is any type of integers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Size1d is a size in one dimension, as an argument: an integer, or a list of one.
type Size1d interface {
	Integer | ~[]int | ~[]int32 | ~[]int64 | ~[1]int | ~[1]int32 | ~[1]int64
}

// Size2d is a size in two dimensions, as an argument: an integer, the same for both, or a list
// of two.
type Size2d interface {
	Integer | ~[]int | ~[]int32 | ~[]int64 | ~[2]int | ~[2]int32 | ~[2]int64
}

// Size3d is a size in three dimensions, as an argument: an integer, the same for all, or a list
// of three.
type Size3d interface {
	Integer | ~[]int | ~[]int32 | ~[]int64 | ~[3]int | ~[3]int32 | ~[3]int64
}

// Shape is the shape of what a normalisation takes together: an integer for the last dimension,
// or a list of the sizes of the last dimensions.
type Shape interface {
	Integer | ~[]int | ~[]int32 | ~[]int64 | ~[1]int | ~[2]int | ~[3]int | ~[4]int | ~[5]int
}

// Sizes writes a shape out.
func Sizes[S Shape](shape S) []int {
	if list, ok := any(shape).([]int); ok {
		return list
	}
	n := 1
	if v := reflect.ValueOf(shape); v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		n = v.Len()
	}
	return integersOf(shape, n)
}

// Spread writes a size out for n dimensions. It is for layers that take a [Size] of their
// own, and panics with a *torch.Error, naming what the size is of, unless s is an int or
// a []int of length n, and n lies between 0 and 64.
func Spread(of string, s Size, n int) []int {
	checkDims(of, n)
	switch s := s.(type) {
	case int:
		return slices.Repeat([]int{s}, n)
	case []int:
		if len(s) == n {
			return s
		}
	default:
		if list := integersOf(s, n); list != nil {
			return list
		}
	}
	torch.Throw(of, torch.KindType, "expected an int or a []int of length %d, got %T(%v)", n, s, s)
	return nil
}

// integersOf writes out an integer of another type, or an array or slice of n of them; nil is
// for anything else.
func integersOf(s any, n int) []int {
	v := reflect.ValueOf(s)
	if one, ok := integerOf(v); ok {
		return slices.Repeat([]int{one}, n)
	}
	if kind := v.Kind(); kind != reflect.Array && kind != reflect.Slice || v.Len() != n {
		return nil
	}
	list := make([]int, n)
	for i := range list {
		one, ok := integerOf(v.Index(i))
		if !ok {
			return nil
		}
		list[i] = one
	}
	return list
}

// integerOf is an integer of any type that an int can hold.
func integerOf(v reflect.Value) (n int, ok bool) {
	switch {
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint() && v.Uint() <= math.MaxInt:
		return int(v.Uint()), true
	}
	return 0, false
}

// checkDims refuses a number of dimensions that no tensor has.
func checkDims(of string, n int) {
	const most = 64 // that libtorch's kernels go through
	if n < 0 || n > most {
		torch.Throw(of, torch.KindValue, "a size for %d dimensions, expected 0 to %d of them", n, most)
	}
}

// spreadOr is Spread, or def for nil: libtorch's own default where that is nil too.
func spreadOr(of string, s Size, n int, def []int) []int {
	if s == nil {
		return def
	}
	return Spread(of, s, n)
}

// Factor is a ratio of sizes in each of the spatial dimensions: a float64 or an int, the
// same for all, or a []float64 with one for each.
type Factor = any

// spreadFactor writes a factor out for n dimensions.
func spreadFactor(of string, f Factor, n int) []float64 {
	checkDims(of, n)
	switch f := f.(type) {
	case float64:
		return slices.Repeat([]float64{f}, n)
	case int:
		return slices.Repeat([]float64{float64(f)}, n)
	case []float64:
		if len(f) == n {
			return f
		}
	}
	torch.Throw(of, torch.KindType, "expected a float64 or a []float64 of length %d, got %T(%v)", n, f, f)
	return nil
}

// lastSizes is x's size in each of its last n dimensions.
func lastSizes(x torch.Tensor, n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = x.Size(i - n)
	}
	return sizes
}

// scaled is the sizes times the factors, rounded down.
func scaled(sizes []int, factors []float64) []int {
	list := make([]int, len(sizes))
	for i, n := range sizes {
		list[i] = int(float64(n) * factors[i])
	}
	return list
}
