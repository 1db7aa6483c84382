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

// Softplus is log(1+exp(x)), a smooth ReLU.
func Softplus(x torch.Tensor) torch.Tensor { return torch.Softplus(x) }

// LogSigmoid is log(sigmoid(x)).
func LogSigmoid(x torch.Tensor) torch.Tensor { return torch.LogSigmoid(x) }

// Softmax is exp(x) divided by its sum over dim.
func Softmax(x torch.Tensor, dim int) torch.Tensor { return x.Softmax(dim) }

// LogSoftmax is the logarithm of [Softmax], computed without overflow.
func LogSoftmax(x torch.Tensor, dim int) torch.Tensor { return x.LogSoftmax(dim) }
