package optim

import (
	"cmp"
	"math"

	"github.com/libtorch-go/libtorch/torch"
)

// value is a number as PyTorch's L-BFGS has it: a Python float, which is a float64, or a
// tensor of one element. Where both meet the tensor's dtype decides, and that is where bits
// are lost; computing with float64 throughout would take other steps.
type value struct {
	f     float64
	dtype torch.DType // 0 for a Python float
}

func float(f float64) value { return value{f: f} }

// scalar reads a tensor of one element.
func scalar(t torch.Tensor) value { return value{t.Float64(), t.DType()} }

func (v value) rounded() value {
	if v.dtype == torch.Float32 {
		v.f = float64(float32(v.f))
	}
	return v
}

// meet turns both into the dtype that the result will have.
func meet(a, b value) (x, y float64, dtype torch.DType) {
	dtype = a.dtype // a Python float has none, and float64 is the larger of two
	if dtype.IsZero() || b.dtype == torch.Float64 {
		dtype = cmp.Or(b.dtype, a.dtype)
	}
	a.dtype, b.dtype = dtype, dtype
	return a.rounded().f, b.rounded().f, dtype
}

func (v value) plus(w value) value {
	x, y, d := meet(v, w)
	return value{x + y, d}.rounded()
}

func (v value) minus(w value) value {
	x, y, d := meet(v, w)
	return value{x - y, d}.rounded()
}

func (v value) times(w value) value {
	x, y, d := meet(v, w)
	return value{x * y, d}.rounded()
}

// over divides; a float by a tensor as PyTorch does, by way of the reciprocal.
func (v value) over(w value) value {
	if v.dtype.IsZero() && !w.dtype.IsZero() {
		return value{1 / w.f, w.dtype}.rounded().times(v)
	}
	x, y, d := meet(v, w)
	return value{x / y, d}.rounded()
}

func (v value) neg() value { return value{-v.f, v.dtype} }

func (v value) abs() value { return value{math.Abs(v.f), v.dtype} }

// sqrt is libtorch's: on some processors its last bit is not that of the true root.
func (v value) sqrt() value {
	torch.Scope(func() { v.f = torch.TensorOptions{DType: v.dtype}.Full(nil, v.f).Sqrt().Float64() })
	return v
}

func (v value) less(w value) bool {
	x, y, _ := meet(v, w)
	return x < y
}

func (v value) atMost(w value) bool {
	x, y, _ := meet(v, w)
	return x <= y
}

// lower and higher are Python's min and max: the first of equals, and it keeps its type.
func lower(v, w value) value {
	if w.less(v) {
		return w
	}
	return v
}

func higher(v, w value) value {
	if v.less(w) {
		return w
	}
	return v
}
