package nn

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// Linear is x·Weightᵀ + Bias over the last dimension.
type Linear struct {
	Weight torch.Tensor // [out, in]
	Bias   torch.Tensor // [out], or undefined
}

// LinearOptions are the rarer arguments of [NewLinear].
type LinearOptions struct {
	NoBias bool
}

// NewLinear makes a layer from in to out features. Weight and bias are drawn uniformly
// from ±1/√in.
func NewLinear(in, out int, opts ...LinearOptions) *Linear {
	v := option.One(opts)
	l := &Linear{}
	create(func() {
		l.Weight = torch.Empty(out, in)
		nninit.KaimingUniform(l.Weight, nninit.KaimingOptions{A: math.Sqrt(5)})
		l.Weight.SetRequiresGrad(true)
		if !v.NoBias {
			l.Bias = newBias(out, l.Weight)
		}
	})
	return l
}

// newBias draws the bias of a layer with that weight.
func newBias(n int, weight torch.Tensor) torch.Tensor {
	bound := 0.0
	if in, _ := nninit.Fans(weight); in > 0 {
		bound = 1 / math.Sqrt(float64(in))
	}
	return nninit.Uniform(torch.Empty(n), 0-bound, bound).SetRequiresGrad(true) // never from -0
}

// Forward maps [..., in] to [..., out].
func (l *Linear) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(l, x, func(x torch.Tensor) torch.Tensor { return F.Linear(x, l.Weight, l.Bias) })
}

// Bilinear is x1ᵀ·Weight·x2 + Bias over the last dimensions.
type Bilinear struct {
	Weight torch.Tensor // [out, in1, in2]
	Bias   torch.Tensor // [out], or undefined
}

// BilinearOptions are the rarer arguments of [NewBilinear].
type BilinearOptions struct {
	NoBias bool
}

// NewBilinear makes a layer from in1 and in2 to out features. Weight and bias are drawn
// uniformly from ±1/√in1.
func NewBilinear(in1, in2, out int, opts ...BilinearOptions) *Bilinear {
	if in1 <= 0 {
		torch.Throw("bilinear", torch.KindValue, "in1_features must be > 0, but got (in1_features=%d)", in1)
	}
	v, bound, b := option.One(opts), 1/math.Sqrt(float64(in1)), &Bilinear{}
	create(func() {
		b.Weight = nninit.Uniform(torch.Empty(out, in1, in2), -bound, bound).SetRequiresGrad(true)
		if !v.NoBias {
			b.Bias = nninit.Uniform(torch.Empty(out), -bound, bound).SetRequiresGrad(true)
		}
	})
	return b
}

// Forward maps [..., in1] and [..., in2] to [..., out].
func (b *Bilinear) Forward(x1, x2 torch.Tensor) (y torch.Tensor) {
	HookedAll(b, refs{&x1, &x2}, refs{&y}, func() { y = F.Bilinear(x1, x2, b.Weight, b.Bias) })
	return y
}
