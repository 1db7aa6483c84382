package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// either applies a function to x, or its form that overwrites x and returns it.
func either(inPlace bool, x torch.Tensor, over, fresh func(torch.Tensor) torch.Tensor) torch.Tensor {
	if inPlace {
		return over(x)
	}
	return fresh(x)
}

// ReLU is max(x, 0).
type ReLU struct {
	InPlace bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (r ReLU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(r, x, func(x torch.Tensor) torch.Tensor { return either(r.InPlace, x, torch.Tensor.ReLUInPlace, F.ReLU) })
}

// GELU is x times the normal distribution's probability of less than x.
type GELU struct {
	Approximate string // "none" (default) or "tanh", a faster formula
}

// Forward keeps the shape.
func (g GELU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(g, x, func(x torch.Tensor) torch.Tensor { return F.GELU(x, F.GELUOptions{Approximate: g.Approximate}) })
}

// SiLU is x*sigmoid(x).
type SiLU struct {
	InPlace bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (s SiLU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor { return either(s.InPlace, x, aten.SiLUInPlace, F.SiLU) })
}

// Tanh is the hyperbolic tangent.
type Tanh struct{}

// Forward keeps the shape.
func (t Tanh) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(t, x, torch.Tensor.Tanh)
}

// Sigmoid is 1/(1+exp(-x)).
type Sigmoid struct{}

// Forward keeps the shape.
func (s Sigmoid) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, torch.Tensor.Sigmoid)
}

// LeakyReLU is x where positive, NegativeSlope*x elsewhere.
type LeakyReLU struct {
	NegativeSlope *float64 // default 0.01
	InPlace       bool     // overwrite the input, and return it
}

// Forward keeps the shape.
func (l LeakyReLU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(l, x, func(x torch.Tensor) torch.Tensor {
		if l.InPlace {
			return aten.LeakyReLUInPlace(x, aten.LeakyReLUOptions{NegativeSlope: or(l.NegativeSlope, 0.01)})
		}
		return F.LeakyReLU(x, F.LeakyReLUOptions{NegativeSlope: l.NegativeSlope})
	})
}

// Softmax is exp(x) divided by its sum over Dim.
type Softmax struct {
	Dim int
}

// Forward keeps the shape.
func (s Softmax) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor { return F.Softmax(x, s.Dim) })
}
