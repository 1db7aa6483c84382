package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
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

// ReLU6 is min(max(x, 0), 6).
type ReLU6 struct {
	InPlace bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (r ReLU6) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(r, x, func(x torch.Tensor) torch.Tensor { return either(r.InPlace, x, aten.ReLU6InPlace, F.ReLU6) })
}

// RReLU is x where positive, slope*x elsewhere: slopes are random in training, and halfway
// between the two ends otherwise.
type RReLU struct {
	Lower, Upper float64
	InPlace      bool // overwrite the input, and return it
	Mode         Mode
}

// RReLUOptions are the arguments of [NewRReLU].
type RReLUOptions struct {
	Lower   *float64 // default 1/8
	Upper   *float64 // default 1/3
	InPlace bool     // overwrite the input, and return it
}

// NewRReLU makes a layer.
func NewRReLU(opts ...RReLUOptions) *RReLU {
	v := option.One(opts)
	return &RReLU{Lower: or(v.Lower, 1.0/8), Upper: or(v.Upper, 1.0/3), InPlace: v.InPlace}
}

// Forward keeps the shape.
func (r *RReLU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(r, x, func(x torch.Tensor) torch.Tensor {
		o := F.RReLUOptions{Lower: r.Lower, Upper: r.Upper, Training: r.Mode.Training()}
		if r.InPlace {
			return aten.RReLUInPlace(x, o)
		}
		return F.RReLU(x, o)
	})
}

// PReLU is x where positive, Weight*x elsewhere (He et al., 2015).
type PReLU struct {
	Weight torch.Tensor // [1], or [C]
}

// PReLUOptions are the arguments of [NewPReLU].
type PReLUOptions struct {
	NumParameters int      // weights, one for each channel; default 1, for all
	Init          *float64 // of the weights; default 0.25
}

// NewPReLU makes a layer.
func NewPReLU(opts ...PReLUOptions) *PReLU {
	v := option.One(opts)
	p := &PReLU{}
	create(func() {
		p.Weight = nninit.Constant(torch.Empty(max(v.NumParameters, 1)), or(v.Init, 0.25)).SetRequiresGrad(true)
	})
	return p
}

// Forward keeps the shape. Channels are dimension 1.
func (p *PReLU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor { return F.PReLU(x, p.Weight) })
}

// Threshold is x where above Threshold, Value elsewhere.
type Threshold struct {
	Threshold, Value float64
	InPlace          bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (t Threshold) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(t, x, func(x torch.Tensor) torch.Tensor {
		if t.InPlace {
			return aten.ThresholdInPlace(x, t.Threshold, t.Value)
		}
		return F.Threshold(x, t.Threshold, t.Value)
	})
}

// Hardtanh is min(max(x, MinVal), MaxVal).
type Hardtanh struct {
	MinVal  *float64 // default -1
	MaxVal  *float64 // default 1
	InPlace bool     // overwrite the input, and return it
}

// Forward keeps the shape.
func (h Hardtanh) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(h, x, func(x torch.Tensor) torch.Tensor {
		if h.InPlace {
			return aten.HardtanhInPlace(x, aten.HardtanhOptions{MinVal: or(h.MinVal, -1), MaxVal: or(h.MaxVal, 1)})
		}
		return F.Hardtanh(x, F.HardtanhOptions{MinVal: h.MinVal, MaxVal: h.MaxVal})
	})
}

// Hardsigmoid is min(max(x/6 + 1/2, 0), 1).
type Hardsigmoid struct {
	InPlace bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (h Hardsigmoid) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(h, x, func(x torch.Tensor) torch.Tensor {
		return either(h.InPlace, x, aten.HardsigmoidInPlace, F.Hardsigmoid)
	})
}

// Hardswish is x*hardsigmoid(x) (Howard et al., 2019).
type Hardswish struct {
	InPlace bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (h Hardswish) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(h, x, func(x torch.Tensor) torch.Tensor { return either(h.InPlace, x, aten.HardswishInPlace, F.Hardswish) })
}

// Mish is x*tanh(softplus(x)) (Misra, 2019).
type Mish struct {
	InPlace bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (m Mish) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(m, x, func(x torch.Tensor) torch.Tensor { return either(m.InPlace, x, aten.MishInPlace, F.Mish) })
}

// ELU is x where positive, Alpha*(exp(x)-1) elsewhere (Clevert et al., 2015).
type ELU struct {
	Alpha   *float64 // default 1
	InPlace bool     // overwrite the input, and return it
}

// Forward keeps the shape.
func (e ELU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(e, x, func(x torch.Tensor) torch.Tensor {
		if e.InPlace {
			return aten.ELUInPlace(x, aten.ELUOptions{Alpha: or(e.Alpha, 1)})
		}
		return F.ELU(x, F.ELUOptions{Alpha: e.Alpha})
	})
}

// CELU is x where positive, Alpha*(exp(x/Alpha)-1) elsewhere (Barron, 2017).
type CELU struct {
	Alpha   *float64 // default 1
	InPlace bool     // overwrite the input, and return it
}

// Forward keeps the shape.
func (c CELU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor {
		if c.InPlace {
			return aten.CELUInPlace(x, aten.CELUOptions{Alpha: or(c.Alpha, 1)})
		}
		return F.CELU(x, F.CELUOptions{Alpha: c.Alpha})
	})
}

// SELU is scale*ELU(x) with the constants for which activations normalise themselves
// (Klambauer et al., 2017).
type SELU struct {
	InPlace bool // overwrite the input, and return it
}

// Forward keeps the shape.
func (s SELU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor { return either(s.InPlace, x, aten.SELUInPlace, F.SELU) })
}

// GLU is the first half of x along Dim times the sigmoid of the second (Dauphin et al.,
// 2016).
type GLU struct {
	Dim *int // default -1
}

// Forward halves the dimension.
func (g GLU) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(g, x, func(x torch.Tensor) torch.Tensor { return F.GLU(x, or(g.Dim, -1)) })
}

// Hardshrink is 0 where |x| is at most Lambda, x elsewhere.
type Hardshrink struct {
	Lambda *float64 // default 0.5
}

// Forward keeps the shape.
func (h Hardshrink) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(h, x, func(x torch.Tensor) torch.Tensor { return F.Hardshrink(x, F.ShrinkOptions{Lambda: h.Lambda}) })
}

// Softshrink moves x by Lambda towards 0, and no further.
type Softshrink struct {
	Lambda *float64 // default 0.5
}

// Forward keeps the shape.
func (s Softshrink) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor { return F.Softshrink(x, F.ShrinkOptions{Lambda: s.Lambda}) })
}

// Tanhshrink is x - tanh(x).
type Tanhshrink struct{}

// Forward keeps the shape.
func (t Tanhshrink) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(t, x, F.Tanhshrink)
}

// LogSigmoid is log(sigmoid(x)).
type LogSigmoid struct{}

// Forward keeps the shape.
func (l LogSigmoid) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(l, x, F.LogSigmoid)
}

// Softplus is log(1 + exp(Beta*x))/Beta.
type Softplus struct {
	Beta      *float64 // default 1
	Threshold *float64 // Beta*x above it counts as a line; default 20
}

// Forward keeps the shape.
func (s Softplus) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor {
		return F.Softplus(x, F.SoftplusOptions{Beta: or(s.Beta, 1), Threshold: or(s.Threshold, 20)})
	})
}

// Softsign is x/(1+|x|).
type Softsign struct{}

// Forward keeps the shape.
func (s Softsign) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, F.Softsign)
}

// Softmin is the softmax of -x.
type Softmin struct {
	Dim int
}

// Forward keeps the shape.
func (s Softmin) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor { return F.Softmin(x, s.Dim) })
}

// LogSoftmax is the logarithm of [Softmax], computed without overflow.
type LogSoftmax struct {
	Dim int
}

// Forward keeps the shape.
func (s LogSoftmax) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor { return F.LogSoftmax(x, s.Dim) })
}

// Softmax2d is [Softmax] over the channels at each place of an image.
type Softmax2d struct{}

// Forward keeps the shape, [N, C, H, W] or [C, H, W].
func (s Softmax2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor {
		if n := x.Dim(); n != 3 && n != 4 {
			torch.Throw("softmax2d", torch.KindValue, "Softmax2d: expected input to be 3D or 4D, got %dD instead", n)
		}
		return F.Softmax(x, -3)
	})
}
