package torchtest

import (
	"bytes"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
)

// Tolerance is how far a number may be from the wanted one: by at most
// Absolute + Relative*|wanted|.
type Tolerance struct {
	Relative, Absolute float64
	EqualNaN           bool // two NaNs are equal
}

// DefaultTolerance is what PyTorch's assert_close allows for a dtype: nothing for integers
// and booleans.
func DefaultTolerance(d torch.DType) Tolerance {
	switch d {
	case torch.Float16, torch.Complex32:
		return Tolerance{Relative: 1e-3, Absolute: 1e-5}
	case torch.BFloat16:
		return Tolerance{Relative: 1.6e-2, Absolute: 1e-5}
	case torch.Float32, torch.Complex64:
		return Tolerance{Relative: 1.3e-6, Absolute: 1e-5}
	case torch.Float64, torch.Complex128:
		return Tolerance{Relative: 1e-7, Absolute: 1e-7}
	}
	return Tolerance{}
}

// AllClose stops the test unless got has want's shape, dtype and device, and each element
// is within the tolerance: by default [DefaultTolerance] of the dtype. NaN is close to
// nothing unless EqualNaN is set; infinities are close to themselves.
func AllClose(t testing.TB, got, want torch.Tensor, tolerance ...Tolerance) {
	t.Helper()
	if !alike(t, got, want) {
		return
	}
	if len(tolerance) == 0 && DefaultTolerance(want.DType()) == (Tolerance{}) {
		Equal(t, got, want)
		return
	}
	limit := DefaultTolerance(want.DType())
	if len(tolerance) > 0 {
		limit = tolerance[0]
	}
	if report := distant(got, want, limit); report != "" {
		t.Fatal(report)
	}
}

// Equal stops the test unless got has want's shape, dtype and device and the same bits in
// every element.
func Equal(t testing.TB, got, want torch.Tensor) {
	t.Helper()
	if !alike(t, got, want) {
		return
	}
	a, b := got.Bytes(), want.Bytes()
	if bytes.Equal(a, b) {
		return
	}
	size, n, first, count := want.ElementSize(), want.NumEl(), -1, 0
	for i := range n {
		if !bytes.Equal(a[i*size:][:size], b[i*size:][:size]) {
			count++
			if first < 0 {
				first = i
			}
		}
	}
	t.Fatalf("%d of %d elements differ, the first at %v: got %v (%x), want %v (%x)", count, n, position(first, want.Shape()),
		number(got, first), bits(a[first*size:][:size]), number(want, first), bits(b[first*size:][:size]))
}

// alike compares all but the values; true means there are values to compare.
func alike(t testing.TB, got, want torch.Tensor) bool {
	t.Helper()
	if !got.Defined() || !want.Defined() {
		if got.Defined() != want.Defined() {
			t.Fatalf("got %v, want %v", kind(got), kind(want))
		}
		return false
	}
	if !slices.Equal(got.Shape(), want.Shape()) || got.DType() != want.DType() || got.Device() != want.Device() {
		t.Fatalf("got %v, want %v", kind(got), kind(want))
	}
	return true
}

func kind(t torch.Tensor) string {
	if !t.Defined() {
		return "the undefined tensor"
	}
	return fmt.Sprintf("%v%v on %v", t.DType(), t.Shape(), t.Device())
}

// distant says which elements are further apart than the limit; "" if none is.
func distant(got, want torch.Tensor, limit Tolerance) string {
	a, b := numbers(got), numbers(want)
	var count, furthest, relative int
	var absolute, ratio float64
	for i := range a {
		d := distance(a[i], b[i], limit.EqualNaN)
		if d == 0 || d <= limit.Absolute+limit.Relative*cmplx.Abs(b[i]) {
			continue
		}
		if count++; count == 1 || d > absolute || math.IsNaN(d) {
			absolute, furthest = d, i
		}
		if r := d / cmplx.Abs(b[i]); count == 1 || r > ratio {
			ratio, relative = r, i
		}
	}
	if count == 0 {
		return ""
	}
	shape := want.Shape()
	var s strings.Builder
	fmt.Fprintf(&s, "%d of %d elements differ by more than %g + %g*|want|", count, len(a), limit.Absolute, limit.Relative)
	fmt.Fprintf(&s, "\nfurthest apart by %g at %v: got %v, want %v", absolute, position(furthest, shape), number(got, furthest),
		number(want, furthest))
	fmt.Fprintf(&s, "\nlargest relative difference %g at %v: got %v, want %v", ratio, position(relative, shape), number(got, relative),
		number(want, relative))
	return s.String()
}

// distance is 0 for what counts as equal whatever the tolerance, and NaN, which is within
// no tolerance, where only one is infinite or a NaN.
func distance(a, b complex128, equalNaN bool) float64 {
	switch {
	case a == b, equalNaN && cmplx.IsNaN(a) && cmplx.IsNaN(b):
		return 0
	case cmplx.IsInf(a) || cmplx.IsInf(b):
		return math.NaN()
	}
	return cmplx.Abs(a - b)
}

// numbers are the elements, wide enough for every dtype but the largest integers, whose
// distance may then be off by the rounding.
func numbers(t torch.Tensor) []complex128 {
	if t.DType().IsComplex() {
		return torch.Values[complex128](t)
	}
	list := make([]complex128, 0, t.NumEl())
	for _, v := range torch.Values[float64](t) {
		list = append(list, complex(v, 0))
	}
	return list
}

// number is one element in a form to print.
func number(t torch.Tensor, i int) any {
	switch d := t.DType(); {
	case d.IsComplex():
		return torch.Values[complex128](t)[i]
	case d.IsFloatingPoint():
		return torch.Values[float64](t)[i]
	case d == torch.Bool:
		return torch.Values[bool](t)[i]
	case d == torch.Uint64:
		return torch.Values[uint64](t)[i]
	}
	return torch.Values[int64](t)[i]
}

// bits is the element as one number, its most significant byte first.
func bits(element []byte) []byte {
	element = slices.Clone(element)
	slices.Reverse(element)
	return element
}

// position turns the i-th element in row-major order into an index per dimension.
func position(i int, shape []int) []int {
	index := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		index[d] = i % shape[d]
		i /= shape[d]
	}
	return index
}
