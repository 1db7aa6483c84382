package functional

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// ReLU is max(x, 0). In place: x.ReLUInPlace().
func ReLU(x torch.Tensor) torch.Tensor { return x.ReLU() }

// ReLU6 is min(max(x, 0), 6).
func ReLU6(x torch.Tensor) torch.Tensor { return aten.ReLU6(x) }

// LeakyReLUOptions are the rarer arguments of [LeakyReLU].
type LeakyReLUOptions struct {
	NegativeSlope *float64 // default 0.01
}

// LeakyReLU is x where positive, slope*x elsewhere.
func LeakyReLU(x torch.Tensor, opts ...LeakyReLUOptions) torch.Tensor {
	return aten.LeakyReLU(x, aten.LeakyReLUOptions{NegativeSlope: orFloat(option.One(opts).NegativeSlope, 0.01)})
}

// ELUOptions are the rarer arguments of [ELU].
type ELUOptions struct {
	Alpha *float64 // default 1
}

// ELU is x where positive, alpha*(exp(x)-1) elsewhere.
func ELU(x torch.Tensor, opts ...ELUOptions) torch.Tensor {
	return aten.ELU(x, aten.ELUOptions{Alpha: orFloat(option.One(opts).Alpha, 1)})
}

// GELUOptions are the rarer arguments of [GELU].
type GELUOptions = aten.GELUOptions

// GELU is x times the normal distribution's probability of less than x; by PyTorch's
// faster formula where Approximate is "tanh", exactly where it is "" or "none".
func GELU(x torch.Tensor, opts ...GELUOptions) torch.Tensor { return aten.GELU(x, opts...) }

// SiLU is x*sigmoid(x), also called swish.
func SiLU(x torch.Tensor) torch.Tensor { return aten.SiLU(x) }

// Mish is x*tanh(softplus(x)).
func Mish(x torch.Tensor) torch.Tensor { return aten.Mish(x) }

// Hardswish is x*relu6(x+3)/6.
func Hardswish(x torch.Tensor) torch.Tensor { return aten.Hardswish(x) }

// Hardsigmoid is relu6(x+3)/6.
func Hardsigmoid(x torch.Tensor) torch.Tensor { return aten.Hardsigmoid(x) }

// SoftplusOptions are the rarer arguments of [Softplus]: Beta, by default 1, and Threshold,
// by default 20, above which beta*x counts as a line.
type SoftplusOptions = aten.SoftplusOptions

// Softplus is log(1+exp(beta*x))/beta, a smooth ReLU.
func Softplus(x torch.Tensor, opts ...SoftplusOptions) torch.Tensor {
	return aten.Softplus(x, option.One(opts))
}

// LogSigmoid is log(sigmoid(x)).
func LogSigmoid(x torch.Tensor) torch.Tensor { return aten.LogSigmoid(x) }

// Sigmoid is 1/(1+exp(-x)).
func Sigmoid(x torch.Tensor) torch.Tensor { return x.Sigmoid() }

// Tanh is the hyperbolic tangent.
func Tanh(x torch.Tensor) torch.Tensor { return x.Tanh() }

// SELU is scale*ELU(x, alpha) with the two constants for which activations normalise
// themselves.
func SELU(x torch.Tensor) torch.Tensor { return aten.SELU(x) }

// CELUOptions are the rarer arguments of [CELU].
type CELUOptions struct {
	Alpha *float64 // default 1
}

// CELU is max(0, x) + min(0, alpha*(exp(x/alpha)-1)).
func CELU(x torch.Tensor, opts ...CELUOptions) torch.Tensor {
	return aten.CELU(x, aten.CELUOptions{Alpha: orFloat(option.One(opts).Alpha, 1)})
}

// PReLU is x where positive, weight*x elsewhere: weight is a single number or one for each
// channel, dimension 1, of x.
func PReLU(x, weight torch.Tensor) torch.Tensor { return x.PReLU(weight) }

// RReLUOptions are the rarer arguments of [RReLU]: Lower, by default 1/8; Upper, by default
// 1/3; Training and Generator.
type RReLUOptions = aten.RReLUOptions

// RReLU is x where positive, slope*x elsewhere: slopes are random, between lower and upper,
// in training, and halfway between them otherwise.
func RReLU(x torch.Tensor, opts ...RReLUOptions) torch.Tensor {
	return aten.RReLU(x, option.One(opts))
}

// GLU is a*sigmoid(b), a and b being the two halves of x along dim, by default the last,
// whose size is even.
func GLU(x torch.Tensor, dim ...int) torch.Tensor {
	if x.Dim() == 0 {
		torch.Throw("glu", torch.KindGeneric, "glu does not support scalars because halving size must be even")
	}
	return aten.GLU(x, dim...)
}

// HardtanhOptions are the rarer arguments of [Hardtanh].
type HardtanhOptions struct {
	MinVal *float64 // default -1
	MaxVal *float64 // default 1
}

// Hardtanh is x, but at least MinVal and at most MaxVal.
func Hardtanh(x torch.Tensor, opts ...HardtanhOptions) torch.Tensor {
	o := option.One(opts)
	low, high := orFloat(o.MinVal, -1), orFloat(o.MaxVal, 1)
	if low > high {
		torch.Throw("hardtanh", torch.KindValue, "min_val cannot be greater than max_val")
	}
	return aten.Hardtanh(x, aten.HardtanhOptions{MinVal: low, MaxVal: high})
}

// Threshold is x where above threshold, value elsewhere.
func Threshold(x torch.Tensor, threshold, value float64) torch.Tensor {
	return aten.Threshold(x, threshold, value)
}

// ShrinkOptions are the rarer arguments of [Hardshrink] and [Softshrink].
type ShrinkOptions struct {
	Lambda *float64 // default 0.5
}

// Hardshrink is x where above lambda or below -lambda, 0 elsewhere.
func Hardshrink(x torch.Tensor, opts ...ShrinkOptions) torch.Tensor {
	return x.Hardshrink(torch.HardshrinkOptions{Lambda: orFloat(option.One(opts).Lambda, 0.5)})
}

// Softshrink is x moved by lambda towards 0, and 0 where that is nearer.
func Softshrink(x torch.Tensor, opts ...ShrinkOptions) torch.Tensor {
	return aten.Softshrink(x, aten.SoftshrinkOptions{Lambda: orFloat(option.One(opts).Lambda, 0.5)})
}

// Tanhshrink is x - tanh(x).
func Tanhshrink(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return x.Sub(x.Tanh()) })
}

// Softsign is x/(1+|x|).
func Softsign(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return x.Div(x.Abs().AddScalar(1)) })
}

// SoftmaxOptions are the rarer arguments of [Softmax], [Softmin] and [LogSoftmax]: DType, in
// which they compute, by default x's own.
type SoftmaxOptions = torch.SoftmaxOptions

// Softmax is exp(x) divided by its sum over dim.
func Softmax(x torch.Tensor, dim int, opts ...SoftmaxOptions) torch.Tensor {
	return x.Softmax(dim, opts...)
}

// Softmin is [Softmax] of -x.
func Softmin(x torch.Tensor, dim int, opts ...SoftmaxOptions) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return x.Neg().Softmax(dim, opts...) })
}

// LogSoftmax is the logarithm of [Softmax], computed without overflow.
func LogSoftmax(x torch.Tensor, dim int, opts ...SoftmaxOptions) torch.Tensor {
	return x.LogSoftmax(dim, torch.LogSoftmaxOptions(option.One(opts)))
}

// GumbelSoftmaxOptions are the rarer arguments of [GumbelSoftmax].
type GumbelSoftmaxOptions struct {
	Tau  *float64 // temperature; default 1
	Hard bool     // round to one-hot vectors, but keep the gradient of what is not rounded
	Dim  *int     // along which the probabilities sum to 1; default -1
}

// GumbelSoftmax draws from the categorical distributions with the given logarithms of
// probabilities, which need not be normalised, in a way that has a gradient.
func GumbelSoftmax(logits torch.Tensor, opts ...GumbelSoftmaxOptions) torch.Tensor {
	v := option.One(opts)
	dim := -1
	if v.Dim != nil {
		dim = *v.Dim
	}
	return torch.Scope1(func() torch.Tensor {
		contiguous := torch.TensorOptions{MemoryFormat: torch.ContiguousFormat}
		noise := torch.EmptyLike(logits, contiguous).ExponentialInPlace(1).Log().Neg()
		soft := logits.Add(noise).DivScalar(orFloat(v.Tau, 1)).Softmax(dim)
		if !v.Hard {
			return soft
		}
		_, index := soft.MaxDim(dim, torch.MaxDimOptions{KeepDim: true})
		hard := torch.ZerosLike(logits, contiguous).ScatterValueInPlace(dim, index, 1.0)
		return hard.Sub(soft.Detach()).Add(soft)
	})
}
