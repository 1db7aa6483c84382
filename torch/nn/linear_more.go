package nn

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

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

// EmbeddingBag is the mean, sum or maximum of rows that it looks up by number.
type EmbeddingBag struct {
	Weight  torch.Tensor // [n, dim]
	Options EmbeddingBagOptions
}

// EmbeddingBagOptions are the rarer arguments of [NewEmbeddingBag]. The row PaddingIdx
// starts as zeros.
type EmbeddingBagOptions struct {
	MaxNorm           *float64 // rows in use whose norm is larger are scaled down to it, in Weight itself; default: none
	NormType          *float64 // which norm that is; default 2
	ScaleGradByFreq   bool     // divide gradients by how often the row occurs; not for "max"
	Mode              string   // "sum", "mean" or "max"; default "mean"
	Sparse            bool     // the gradient of Weight is sparse; not for "max"
	IncludeLastOffset bool     // offsets end with the end of the last bag
	PaddingIdx        *int     // rows to pass over; negative counts from the end; default: none
}

// NewEmbeddingBag makes a table of n rows of dim numbers, drawn from the standard normal
// distribution.
func NewEmbeddingBag(n, dim int, opts ...EmbeddingBagOptions) *EmbeddingBag {
	v := option.One(opts)
	table := NewEmbedding(n, dim, EmbeddingOptions{PaddingIdx: v.PaddingIdx})
	return &EmbeddingBag{table.Weight, v}
}

// Forward maps integers [B, L], or [N] with the offsets [B] at which bags begin, to [B, dim].
// Weights of the rows, in x's shape, are for "sum" only. Offsets and weights may be
// undefined.
func (e *EmbeddingBag) Forward(x, offsets, weights torch.Tensor) (y torch.Tensor) {
	o := e.Options
	HookedAll(e, refs{&x, &offsets, &weights}, refs{&y}, func() {
		y = F.EmbeddingBag(x, e.Weight, F.EmbeddingBagOptions{Offsets: offsets, PerSampleWeights: weights, MaxNorm: o.MaxNorm, NormType: o.NormType,
			ScaleGradByFreq: o.ScaleGradByFreq, Mode: o.Mode, Sparse: o.Sparse, IncludeLastOffset: o.IncludeLastOffset, PaddingIdx: o.PaddingIdx})
	})
	return y
}
