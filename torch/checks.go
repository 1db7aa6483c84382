package torch

import (
	"math"
	"reflect"

	"github.com/libtorch-go/libtorch/cgo"
)

// The functions of the checks*.go files look at arguments before libtorch does, where it
// would end the process, read outside memory or never come back. The lines "check" of
// cgo/gen/names.txt say which operators ask them.
//
// Shapes and numbers are looked at wherever the tensors are. Elements are looked at on the
// CPU only: elsewhere that would make the caller wait for the device. What is closed,
// undefined or of a wrong dimension is left to libtorch, which has words for it.

// there tells whether all are tensors whose properties can be asked for.
func there(list ...Tensor) bool {
	for _, t := range list {
		if !t.Defined() || t.Closed() {
			return false
		}
	}
	return true
}

// onHost tells whether the elements of t can be looked at without waiting.
func onHost(t Tensor) bool {
	if !there(t) {
		return false
	}
	d := t.traits()
	return deviceOf(d.c.WordResult(1)).IsCPU() && Layout(d.c.IntResult(2)+1) == Strided
}

// extreme is the smallest or the largest element of t, a tensor of integers.
func extreme(of func(Tensor) Tensor, t Tensor) (v int) {
	Scope(func() { v = of(t.Detach()).Int() })
	return v
}

// holds tells whether any element of t is as asked for.
func holds(t Tensor, asked func(Tensor) Tensor) (yes bool) {
	Scope(func() { yes = asked(t.Detach()).Any().Int() == 1 })
	return yes
}

// checkQuotient refuses the smallest int64 or int32 divided by -1: processors trap on it.
// Other integers are computed in a wider type, and rounding down is computed otherwise.
func checkQuotient(op cgo.Op, x, other Tensor, mode string) {
	if mode != "trunc" || !onHost(x) || !onHost(other) || x.NumEl() == 0 || other.NumEl() == 0 {
		return
	}
	dtype := ResultType(x, other)
	least := leastOf(dtype)
	if least == 0 || other.DType() == Bool || x.DType() == Bool || extreme(Tensor.Min, other) >= 0 {
		return
	}
	overflows := false
	Scope(func() {
		a, b := x.To(dtype), other.To(dtype)
		if a.Min().Int() == least {
			overflows = a.EqScalar(least).LogicalAnd(b.EqScalar(-1)).Any().Int() == 1
		}
	})
	if overflows {
		throw(op.String(), KindValue, "integer overflow: %d divided by -1 is past the largest %v", least, dtype)
	}
}

// checkQuotientScalar is checkQuotient for a number on the right.
func checkQuotientScalar(op cgo.Op, x Tensor, other Scalar, mode string) {
	if mode != "trunc" || !minusOne(other) || !onHost(x) || x.NumEl() == 0 {
		return
	}
	if least := leastOf(x.DType()); least != 0 && extreme(Tensor.Min, x) == least {
		throw(op.String(), KindValue, "integer overflow: %d divided by -1 is past the largest %v", least, x.DType())
	}
}

// leastOf is the smallest number of an integer type that processors divide in; 0 for others.
func leastOf(d DType) int {
	switch d {
	case Int64:
		return math.MinInt64
	case Int32:
		return math.MinInt32
	}
	return 0
}

func minusOne(v Scalar) bool {
	switch v := v.(type) {
	case int:
		return v == -1
	case int64:
		return v == -1
	case int32:
		return v == -1
	case int16:
		return v == -1
	case int8:
		return v == -1
	}
	return false
}

// checkExponent refuses the one number whose absolute value is no int.
func checkExponent(op cgo.Op, n int) {
	if n == math.MinInt {
		throw(op.String(), KindValue, "the exponent %d is too small", n)
	}
}

// maxDegree bounds polynomials that libtorch computes one degree after the other. It is
// where float32 runs out of integers: a sixth of a second for each element.
const maxDegree = 1 << 24

// checkDegrees refuses polynomials that would take forever.
func checkDegrees(op cgo.Op, n Tensor) {
	large := func(n Tensor) Tensor { return n.To(Float64).GtScalar(maxDegree) } // small integers do not hold the bound
	if onHost(n) && holds(n, large) {
		throw(op.String(), KindValue, "the degree n is at most %d", maxDegree)
	}
}

// checkDegree is checkDegrees for a number.
func checkDegree(op cgo.Op, n Scalar) {
	if floatOf(n) > maxDegree {
		throw(op.String(), KindValue, "the degree n is at most %d, but got %v", maxDegree, n)
	}
}

// floatOf is a number of any type as a float64, or NaN for what is no real number.
func floatOf(n Scalar) float64 {
	if half, ok := n.(interface{ Float32() float32 }); ok {
		return float64(half.Float32())
	}
	if v := reflect.ValueOf(n); v.IsValid() && v.CanConvert(reflect.TypeFor[float64]()) {
		return v.Convert(reflect.TypeFor[float64]()).Float()
	}
	return math.NaN()
}

// checkTrials refuses NaN for a number of trials: the search for a success never ends.
func checkTrials(op cgo.Op, count Tensor) {
	if onHost(count) && holds(count, Tensor.IsNaN) {
		throw(op.String(), KindValue, "count contains NaN")
	}
}

// checkFinite refuses matrices over which LAPACK reads outside memory.
func checkFinite(op cgo.Op, x Tensor) {
	if onHost(x) && holds(x, func(x Tensor) Tensor { return x.IsFinite().LogicalNot() }) {
		throw(op.String(), KindLinAlg, "input tensor should not contain infs or NaNs.")
	}
}

// checkHermitian is checkFinite for what asks for eigenvalues only of a symmetric matrix.
func checkHermitian(op cgo.Op, x Tensor, hermitian bool) {
	if hermitian {
		checkFinite(op, x)
	}
}

// checkPivots refuses rows that are not there, and a 2×2 block of which a half is missing:
// LAPACK swaps rows without looking.
func checkPivots(op cgo.Op, pivots Tensor) {
	if !onHost(pivots) || pivots.Dim() == 0 || pivots.NumEl() == 0 || pivots.IsFloatingPoint() || pivots.IsComplex() {
		return
	}
	n, half := pivots.Size(-1), false
	for i, p := range Values[int](pivots) {
		last := i%n == n-1
		switch {
		case p == 0 || p > n || p < -n:
			throw(op.String(), KindIndex, "pivots have to be between 1 and %d, or between -%d and -1, but got %d", n, n, p)
		case p > 0 && half, p < 0 && !half && last:
			throw(op.String(), KindIndex, "negative pivots have to come in pairs")
		}
		half = p < 0 && !half
	}
}

// checkSome refuses an empty list.
func checkSome(op cgo.Op, tensors []Tensor) {
	if len(tensors) == 0 {
		throw(op.String(), KindValue, "expected a non-empty list of Tensors")
	}
}
