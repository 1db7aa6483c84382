package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

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
