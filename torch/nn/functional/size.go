package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// Size is the size of a window or a step in each of the spatial dimensions: an int, the
// same for all, or a []int with one for each. Where nil is allowed it is the default.
type Size = any

// Spread writes a size out for n dimensions. It is for layers that take a [Size] of their
// own, and panics with a *torch.Error, naming what the size is of, unless s is an int or
// a []int of length n.
func Spread(of string, s Size, n int) []int {
	switch s := s.(type) {
	case int:
		return slices.Repeat([]int{s}, n)
	case []int:
		if len(s) == n {
			return s
		}
	}
	torch.Throw(of, torch.KindType, "expected an int or a []int of length %d, got %T(%v)", n, s, s)
	return nil
}

// spreadOr is Spread, or def for nil: libtorch's own default where that is nil too.
func spreadOr(of string, s Size, n int, def []int) []int {
	if s == nil {
		return def
	}
	return Spread(of, s, n)
}

// or is what o points to, or the zero value: PyTorch's defaults.
func or[T any](o *T) (v T) {
	if o != nil {
		v = *o
	}
	return v
}
