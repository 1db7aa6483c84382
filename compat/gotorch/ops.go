package gotorch

import (
	"fmt"
	"reflect"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/wangkuiyi/gotorch/variadic"
)

// factor is alpha as the operators take it: left out if it is 1, and an integer if it is whole, so that integer tensors
// take it too.
func factor(alpha float32) (opts []torch.AddOptions) {
	switch whole := int64(alpha); {
	case alpha == 1:
		return nil
	case float32(whole) == alpha:
		return []torch.AddOptions{{Alpha: whole}}
	}
	return []torch.AddOptions{{Alpha: alpha}}
}

// subFactor is factor for subtractions.
func subFactor(alpha float32) (opts []torch.SubOptions) {
	for _, o := range factor(alpha) {
		opts = append(opts, torch.SubOptions(o))
	}
	return opts
}

// Add is a + alpha*other.
func Add(a, other Tensor, alpha float32) Tensor {
	return wrap(a.core().Add(other.core(), factor(alpha)...))
}

// Add is a + alpha*other.
func (a *Tensor) Add(other Tensor, alpha float32) Tensor { return Add(*a, other, alpha) }

// AddI adds alpha*other to a.
func (a *Tensor) AddI(other Tensor, alpha float32) Tensor {
	return wrap(a.core().AddInPlace(other.core(), factor(alpha)...))
}

// Sub is a - alpha*other.
func Sub(a, other Tensor, alpha float32) Tensor {
	return wrap(a.core().Sub(other.core(), subFactor(alpha)...))
}

// Sub is a - alpha*other.
func (a *Tensor) Sub(other Tensor, alpha float32) Tensor { return Sub(*a, other, alpha) }

// SubI subtracts alpha*other from a.
func (a *Tensor) SubI(other Tensor, alpha float32) Tensor {
	return wrap(a.core().SubInPlace(other.core(), subFactor(alpha)...))
}

// Mul is the product, element by element.
func Mul(a, other Tensor) Tensor { return wrap(a.core().Mul(other.core())) }

// Mul is the product, element by element.
func (a *Tensor) Mul(other Tensor) Tensor { return Mul(*a, other) }

// MulI multiplies a by other.
func (a *Tensor) MulI(other Tensor) Tensor { return wrap(a.core().MulInPlace(other.core())) }

// Div is the quotient, element by element.
func Div(a, other Tensor) Tensor { return wrap(a.core().Div(other.core())) }

// Div is the quotient, element by element.
func (a *Tensor) Div(other Tensor) Tensor { return Div(*a, other) }

// DivI divides a by other.
func (a *Tensor) DivI(other Tensor) Tensor { return wrap(a.core().DivInPlace(other.core())) }

// MM is the product of two matrices.
func MM(a, b Tensor) Tensor { return wrap(a.core().MM(b.core())) }

// Permute puts the dimensions into another order.
func (a *Tensor) Permute(dims []int64) Tensor { return wrap(a.core().Permute(ints(dims)...)) }

// Eq tells for each element whether both are equal.
func Eq(a, other Tensor) Tensor { return wrap(a.core().Eq(other.core())) }

// Eq tells for each element whether both are equal.
func (a Tensor) Eq(other Tensor) Tensor { return Eq(a, other) }

// Equal tells whether both have the same shape and the same elements.
func Equal(a, b Tensor) bool { return a.core().Equal(b.core()) }

// AllClose tells whether all elements are close, as torch.allclose does.
func AllClose(a, b Tensor) bool { return a.core().AllClose(b.core()) }

// ExpandAs is a view of a in the shape of other.
func ExpandAs(a, other Tensor) Tensor { return wrap(a.core().ExpandAs(other.core())) }

// ExpandAs is a view of a in the shape of other.
func (a Tensor) ExpandAs(other Tensor) Tensor { return ExpandAs(a, other) }

// Flatten makes one dimension of those from startDim to endDim.
func Flatten(a Tensor, startDim, endDim int64) Tensor {
	return wrap(a.core().Flatten(int(startDim), int(endDim)))
}

// IndexSelect takes the places that index names along dim.
func IndexSelect(a Tensor, dim int64, index Tensor) Tensor {
	return wrap(a.core().IndexSelect(int(dim), index.core()))
}

// IndexSelect takes the places that index names along dim.
func (a Tensor) IndexSelect(dim int64, index Tensor) Tensor { return IndexSelect(a, dim, index) }

// LeakyRelu is t, and negativeSlope*t where it is negative.
func LeakyRelu(t Tensor, negativeSlope float64) Tensor { return t.LeakyRelu(negativeSlope) }

// LeakyRelu is a, and negativeSlope*a where it is negative.
func (a *Tensor) LeakyRelu(negativeSlope float64) Tensor {
	return wrap(aten.LeakyReLU(a.core(), aten.LeakyReLUOptions{NegativeSlope: negativeSlope}))
}

// LogSoftmax is the logarithm of softmax along dim.
func LogSoftmax(t Tensor, dim int64) Tensor { return t.LogSoftmax(dim) }

// LogSoftmax is the logarithm of softmax along dim.
func (a Tensor) LogSoftmax(dim int64) Tensor { return wrap(a.core().LogSoftmax(int(dim))) }

// Mean is the mean of all elements.
func Mean(t Tensor) Tensor { return t.Mean() }

// Mean is the mean of all elements.
func (a Tensor) Mean() Tensor { return wrap(a.core().Mean()) }

// Relu is t, and 0 where it is negative.
func Relu(t Tensor) Tensor { return t.Relu() }

// Relu is a, and 0 where it is negative.
func (a *Tensor) Relu() Tensor { return wrap(a.core().ReLU()) }

// Sigmoid is 1/(1+exp(-t)).
func Sigmoid(t Tensor) Tensor { return t.Sigmoid() }

// Sigmoid is 1/(1+exp(-a)).
func (a Tensor) Sigmoid() Tensor { return wrap(a.core().Sigmoid()) }

// Tanh is the hyperbolic tangent.
func Tanh(t Tensor) Tensor { return t.Tanh() }

// Tanh is the hyperbolic tangent.
func (a Tensor) Tanh() Tensor { return wrap(a.core().Tanh()) }

// Stack puts tensors of one shape beside each other, along a new dimension.
func Stack(tensors []Tensor, dim int64) Tensor {
	list := make([]torch.Tensor, len(tensors))
	for i, t := range tensors {
		list[i] = t.core()
	}
	return wrap(torch.Stack(list, int(dim)))
}

// Squeeze removes dimensions of size 1: all, or one.
func Squeeze(t Tensor, dim ...int64) Tensor { return t.Squeeze(dim...) }

// Squeeze removes dimensions of size 1: all, or one.
func (a Tensor) Squeeze(dim ...int64) Tensor {
	if len(dim) > 1 {
		panic(fmt.Sprintf("Squeeze: %d dimensions were given: expected one, or none for all", len(dim)))
	}
	return wrap(a.core().Squeeze(ints(dim)...))
}

// Sum adds up all elements, or those along the dimension that the option "dim" names, an int. "keepDim" is a bool.
func Sum(a Tensor, opt ...map[string]interface{}) Tensor {
	if !variadic.Has(opt, "dim") {
		return wrap(a.core().Sum())
	}
	dim := variadic.Get(opt, "dim").(int)
	keep := variadic.Get(opt, "keepDim", false).(bool)
	return wrap(a.core().SumDim([]int{dim}, torch.SumOptions{KeepDim: keep}))
}

// Sum is the function Sum.
func (a Tensor) Sum(opt ...map[string]interface{}) Tensor { return Sum(a, opt...) }

// TopK are the k largest or smallest elements along dim, and where they are.
func TopK(a Tensor, k, dim int64, largest, sorted bool) (Tensor, Tensor) {
	at := int(dim)
	values, indices := a.core().TopK(int(k), torch.TopKOptions{Dim: &at, Smallest: !largest, Unsorted: !sorted})
	return wrap(values), wrap(indices)
}

// Transpose swaps two dimensions.
func Transpose(a Tensor, dim0, dim1 int64) Tensor {
	return wrap(a.core().Transpose(int(dim0), int(dim1)))
}

// Transpose swaps two dimensions.
func (a Tensor) Transpose(dim0, dim1 int64) Tensor { return Transpose(a, dim0, dim1) }

// View is the same memory in another shape.
func View(a Tensor, shape ...int64) Tensor { return wrap(a.core().View(ints(shape)...)) }

// View is the same memory in another shape.
func (a Tensor) View(shape ...int64) Tensor { return View(a, shape...) }

// Argmin is where the smallest element is: of all, or along a dimension of any integer type. A bool behind it keeps the
// dimension.
func (a Tensor) Argmin(opts ...interface{}) Tensor {
	dim, keep, all := reduction("Argmin", opts)
	if all {
		return wrap(a.core().ArgMin())
	}
	return wrap(a.core().ArgMinDim(dim, torch.ArgMinOptions{KeepDim: keep}))
}

// Argmax is where the largest element is, with the options of Argmin.
func (a Tensor) Argmax(opts ...interface{}) Tensor {
	dim, keep, all := reduction("Argmax", opts)
	if all {
		return wrap(a.core().ArgMax())
	}
	return wrap(a.core().ArgMaxDim(dim, torch.ArgMaxOptions{KeepDim: keep}))
}

// reduction reads the arguments of Argmin and Argmax; all without any.
func reduction(name string, opts []interface{}) (dim int, keep, all bool) {
	if len(opts) == 0 {
		return 0, false, true
	}
	at := reflect.ValueOf(opts[0])
	if !at.CanInt() {
		panic(fmt.Sprintf("%s: the dimension is a %T: expected an integer", name, opts[0]))
	}
	if len(opts) > 1 {
		var ok bool
		if keep, ok = opts[1].(bool); !ok {
			panic(fmt.Sprintf("%s: whether to keep the dimension is a %T: expected a bool", name, opts[1]))
		}
	}
	return int(at.Int()), keep, false
}
