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
	Weight  torch.Tensor        // [n, dim]
	Options EmbeddingBagOptions `torch:"-"`
}

// EmbeddingBagOptions are the rarer arguments of [NewEmbeddingBag], those of the function. The
// row PaddingIdx starts as zeros; Offsets and PerSampleWeights are for Forward, see [BagOptions].
type EmbeddingBagOptions = F.EmbeddingBagOptions

// BagOptions are the arguments of Forward beside the numbers of rows.
type BagOptions struct {
	Offsets          torch.Tensor // [B], where each bag begins in x [N]: ascending integers from 0 on
	PerSampleWeights torch.Tensor // of each row, in x's shape; for "sum" only
}

// NewEmbeddingBag makes a table of n rows of dim numbers, drawn from the standard normal
// distribution.
func NewEmbeddingBag(n, dim int, opts ...EmbeddingBagOptions) *EmbeddingBag {
	v := option.One(opts)
	if v.Offsets.Defined() || v.PerSampleWeights.Defined() {
		torch.Throw("embedding_bag", torch.KindValue, "Offsets and PerSampleWeights belong to an input: give them to Forward, as nn.BagOptions")
	}
	table := NewEmbedding(n, dim, EmbeddingOptions{PaddingIdx: v.PaddingIdx})
	return &EmbeddingBag{table.Weight, v}
}

// Forward maps integers [B, L], or [N] with the offsets at which bags begin, to [B, dim].
func (e *EmbeddingBag) Forward(x torch.Tensor, opts ...BagOptions) (y torch.Tensor) {
	in, o := option.One(opts), e.Options
	o.Offsets, o.PerSampleWeights = in.Offsets, in.PerSampleWeights
	HookedAll(e, refs{&x, &o.Offsets, &o.PerSampleWeights}, refs{&y}, func() { y = F.EmbeddingBag(x, e.Weight, o) })
	return y
}
