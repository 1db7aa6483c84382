package functional

import (
	"github.com/libtorch-go/libtorch/torch"
)

// ReLU is max(x, 0). In place: x.ReLUInPlace().
func ReLU(x torch.Tensor) torch.Tensor { return x.ReLU() }

// ReLU6 is min(max(x, 0), 6).
func ReLU6(x torch.Tensor) torch.Tensor { return torch.ReLU6(x) }

// LeakyReLU is x where positive, slope*x elsewhere. PyTorch's default slope is 0.01.
func LeakyReLU(x torch.Tensor, slope float64) torch.Tensor { return torch.LeakyReLU(x, slope) }

// ELU is x where positive, alpha*(exp(x)-1) elsewhere. PyTorch's default alpha is 1.
func ELU(x torch.Tensor, alpha float64) torch.Tensor {
	return torch.ELU(x, torch.ELUOptions{Alpha: alpha})
}

// GELU is x times the normal distribution's probability of less than x; by PyTorch's
// faster formula where approximate is "tanh", exactly where it is "" or "none".
func GELU(x torch.Tensor, approximate string) torch.Tensor {
	return torch.GELU(x, torch.GELUOptions{Approximate: approximate})
}

// SiLU is x*sigmoid(x), also called swish.
func SiLU(x torch.Tensor) torch.Tensor { return torch.SiLU(x) }

// Mish is x*tanh(softplus(x)).
func Mish(x torch.Tensor) torch.Tensor { return torch.Mish(x) }

// Hardswish is x*relu6(x+3)/6.
func Hardswish(x torch.Tensor) torch.Tensor { return torch.Hardswish(x) }

// Hardsigmoid is relu6(x+3)/6.
func Hardsigmoid(x torch.Tensor) torch.Tensor { return torch.Hardsigmoid(x) }

// SoftplusOptions are the rarer arguments of [Softplus]: Beta, by default 1, and Threshold,
// by default 20, above which beta*x counts as a line.
type SoftplusOptions = torch.SoftplusOptions

// Softplus is log(1+exp(beta*x))/beta, a smooth ReLU.
func Softplus(x torch.Tensor, o *SoftplusOptions) torch.Tensor { return torch.Softplus(x, or(o)) }

// LogSigmoid is log(sigmoid(x)).
func LogSigmoid(x torch.Tensor) torch.Tensor { return torch.LogSigmoid(x) }

// Sigmoid is 1/(1+exp(-x)).
func Sigmoid(x torch.Tensor) torch.Tensor { return x.Sigmoid() }

// Tanh is the hyperbolic tangent.
func Tanh(x torch.Tensor) torch.Tensor { return x.Tanh() }

// SELU is scale*ELU(x, alpha) with the two constants for which activations normalise
// themselves.
func SELU(x torch.Tensor) torch.Tensor { return torch.SELU(x) }

// CELU is max(0, x) + min(0, alpha*(exp(x/alpha)-1)). PyTorch's default alpha is 1.
func CELU(x torch.Tensor, alpha float64) torch.Tensor { return torch.CELU(x, alpha) }

// PReLU is x where positive, weight*x elsewhere: weight is a single number or one for each
// channel, dimension 1, of x.
func PReLU(x, weight torch.Tensor) torch.Tensor { return x.PReLU(weight) }

// RReLUOptions are the rarer arguments of [RReLU]: Lower, by default 1/8; Upper, by default
// 1/3; Training and Generator.
type RReLUOptions = torch.RReLUOptions

// RReLU is x where positive, slope*x elsewhere: slopes are random, between lower and upper,
// in training, and halfway between them otherwise.
func RReLU(x torch.Tensor, o *RReLUOptions) torch.Tensor { return torch.RReLU(x, or(o)) }

// GLU is a*sigmoid(b), a and b being the two halves of x along dim, whose size is even.
// PyTorch's default dim is -1.
func GLU(x torch.Tensor, dim int) torch.Tensor {
	if x.Dim() == 0 {
		torch.Throw("glu", torch.KindGeneric, "glu does not support scalars because halving size must be even")
	}
	return torch.GLU(x, dim)
}

// Hardtanh is x, but at least low and at most high. PyTorch's defaults are -1 and 1.
func Hardtanh(x torch.Tensor, low, high float64) torch.Tensor {
	if low > high {
		torch.Throw("hardtanh", torch.KindValue, "min_val cannot be greater than max_val")
	}
	return torch.Hardtanh(x, torch.HardtanhOptions{MinVal: low, MaxVal: high})
}

// Threshold is x where above threshold, value elsewhere.
func Threshold(x torch.Tensor, threshold, value float64) torch.Tensor {
	return torch.Threshold(x, threshold, value)
}

// Hardshrink is x where above lambda or below -lambda, 0 elsewhere. PyTorch's default lambda
// is 0.5.
func Hardshrink(x torch.Tensor, lambda float64) torch.Tensor { return x.Hardshrink(lambda) }

// Softshrink is x moved by lambda towards 0, and 0 where that is nearer. PyTorch's default
// lambda is 0.5.
func Softshrink(x torch.Tensor, lambda float64) torch.Tensor { return torch.Softshrink(x, lambda) }

// Tanhshrink is x - tanh(x).
func Tanhshrink(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return x.Sub(x.Tanh()) })
}

// Softsign is x/(1+|x|).
func Softsign(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return x.Div(x.Abs().AddScalar(1)) })
}

// Softmax is exp(x) divided by its sum over dim, computed and returned in dtype, by default
// x's own.
func Softmax(x torch.Tensor, dim int, dtype ...torch.DType) torch.Tensor {
	return x.Softmax(dim, dtype...)
}

// Softmin is [Softmax] of -x.
func Softmin(x torch.Tensor, dim int, dtype ...torch.DType) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return x.Neg().Softmax(dim, dtype...) })
}

// LogSoftmax is the logarithm of [Softmax], computed without overflow.
func LogSoftmax(x torch.Tensor, dim int, dtype ...torch.DType) torch.Tensor {
	return x.LogSoftmax(dim, dtype...)
}

// GumbelSoftmaxOptions are the rarer arguments of [GumbelSoftmax].
type GumbelSoftmaxOptions struct {
	Tau  *float64 // temperature; default 1
	Hard bool     // round to one-hot vectors, but keep the gradient of what is not rounded
	Dim  *int     // along which the probabilities sum to 1; default -1
}

// GumbelSoftmax draws from the categorical distributions with the given logarithms of
// probabilities, which need not be normalised, in a way that has a gradient.
func GumbelSoftmax(logits torch.Tensor, o *GumbelSoftmaxOptions) torch.Tensor {
	v := or(o)
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
