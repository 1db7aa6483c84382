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

// Embedding looks up rows by number.
type Embedding struct {
	Weight  torch.Tensor // [n, dim]
	Options F.EmbeddingOptions
}

// EmbeddingOptions are the rarer arguments of [NewEmbedding]. The row PaddingIdx starts as
// zeros.
type EmbeddingOptions = F.EmbeddingOptions

// NewEmbedding makes a table of n rows of dim numbers, drawn from the standard normal
// distribution.
func NewEmbedding(n, dim int, opts ...EmbeddingOptions) *Embedding {
	e := &Embedding{Options: option.One(opts)}
	create(func() {
		e.Weight = torch.Empty(n, dim)
		nninit.Normal(e.Weight, 0, 1)
		if e.Options.PaddingIdx != nil {
			row := e.Weight.Select(0, *e.Options.PaddingIdx)
			defer row.Close()
			row.ZeroInPlace()
		}
		e.Weight.SetRequiresGrad(true)
	})
	return e
}

// Forward maps integers of any shape to [shape..., dim].
func (e *Embedding) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(e, x, func(x torch.Tensor) torch.Tensor { return F.Embedding(x, e.Weight, e.Options) })
}
