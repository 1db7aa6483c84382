package nninit

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Nonlinearity is the function that follows a layer. The zero value is LeakyReLU, as PyTorch's
// default is.
type Nonlinearity struct{ n uint8 }

// The functions that [Gain] knows. Linear stands for convolutions too, which PyTorch knows by
// their own names.
var (
	LeakyReLU = Nonlinearity{0}
	ReLU      = Nonlinearity{1}
	Tanh      = Nonlinearity{2}
	Sigmoid   = Nonlinearity{3}
	SELU      = Nonlinearity{4}
	Linear    = Nonlinearity{5}
)

// String is PyTorch's name.
func (f Nonlinearity) String() string {
	return [...]string{"leaky_relu", "relu", "tanh", "sigmoid", "selu", "linear"}[f.n]
}

// Gain is the recommended factor of the standard deviation before a function; slope is
// [LeakyReLU]'s, 0.01 by default in PyTorch.
func Gain(f Nonlinearity, slope float64) float64 {
	switch f {
	case Tanh:
		return 5.0 / 3
	case ReLU:
		return math.Sqrt2
	case LeakyReLU:
		return math.Sqrt(2 / (1 + float64(slope*slope))) // rounded as Python does: no fused multiply-add
	case SELU:
		return 3.0 / 4
	}
	return 1 // Linear, Sigmoid
}

// Fan says what [KaimingUniform] and [KaimingNormal] keep constant.
type Fan struct{ n uint8 }

// The fans.
var (
	FanIn  = Fan{0} // the variance of activations, going forward
	FanOut = Fan{1} // the variance of gradients, going backward
)

// Fans counts the inputs of one output, and the outputs of one input, of a layer's weight
// [out, in, k...].
func Fans(weight torch.Tensor) (in, out int) {
	shape := weight.Shape()
	if len(shape) < 2 {
		torch.Throw("fan_in_and_fan_out", torch.KindValue, "a weight has 2 dimensions or more; this one is of shape %v", shape)
	}
	field := 1
	for _, size := range shape[2:] {
		field *= size
	}
	return shape[1] * field, shape[0] * field
}

// KaimingOptions are the rarer arguments of [KaimingUniform] and [KaimingNormal].
type KaimingOptions struct {
	A            float64          // slope of the LeakyReLU that follows; default 0
	Mode         Fan              // default FanIn
	Nonlinearity Nonlinearity     // what follows; default LeakyReLU
	Generator    *torch.Generator // source of random numbers; default: the device's own
}

func (v KaimingOptions) std(t torch.Tensor) (float64, Options) {
	fan, out := Fans(t)
	if v.Mode == FanOut {
		fan = out
	}
	return Gain(v.Nonlinearity, v.A) / math.Sqrt(float64(fan)), Options{v.Generator}
}

// isEmpty tells, and warns, that there is nothing to draw.
func isEmpty(t torch.Tensor) bool {
	empty := slices.Contains(t.Shape(), 0)
	if empty {
		torch.Warn("Initializing zero-element tensors is a no-op")
	}
	return empty
}

// KaimingUniform draws a layer's weight uniformly, with a variance that suits the function
// that follows (He et al. 2015). A tensor without elements is left alone.
func KaimingUniform(t torch.Tensor, opts ...KaimingOptions) torch.Tensor {
	o := option.One(opts)
	if isEmpty(t) {
		return t
	}
	std, options := o.std(t)
	bound := math.Sqrt(3) * std
	return Uniform(t, -bound, bound, options)
}

// KaimingNormal draws a layer's weight from the normal distribution, with a variance that
// suits the function that follows (He et al. 2015). A tensor without elements is left
// alone.
func KaimingNormal(t torch.Tensor, opts ...KaimingOptions) torch.Tensor {
	o := option.One(opts)
	if isEmpty(t) {
		return t
	}
	std, options := o.std(t)
	return Normal(t, 0, std, options)
}

// GainOptions are the optional arguments of [XavierUniform], [XavierNormal] and [Orthogonal].
type GainOptions struct {
	Gain      *float64         // factor of the standard deviation, often new(Gain(f, 0)); default 1
	Generator *torch.Generator // source of random numbers; default: the device's own
}

func (v GainOptions) gain() float64 {
	if v.Gain == nil {
		return 1
	}
	return *v.Gain
}

// XavierUniform draws a layer's weight uniformly, with a variance between what suits the
// way forward and the way backward (Glorot, Bengio 2010).
func XavierUniform(t torch.Tensor, opts ...GainOptions) torch.Tensor {
	o := option.One(opts)
	a := math.Sqrt(3) * xavier(t, o.gain())
	return Uniform(t, -a, a, Options{o.Generator})
}

// XavierNormal draws a layer's weight from the normal distribution, with a variance between
// what suits the way forward and the way backward (Glorot, Bengio 2010).
func XavierNormal(t torch.Tensor, opts ...GainOptions) torch.Tensor {
	o := option.One(opts)
	return Normal(t, 0, xavier(t, o.gain()), Options{o.Generator})
}

func xavier(t torch.Tensor, gain float64) float64 {
	in, out := Fans(t)
	return gain * math.Sqrt(2/float64(in+out))
}
