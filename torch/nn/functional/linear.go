package functional

import (
	"github.com/libtorch-go/libtorch/torch"
)

// Linear is x·weightᵀ + bias over the last dimension: x [..., in], weight [out, in] or
// [in], bias [out] or undefined, result [..., out].
func Linear(x, weight, bias torch.Tensor) torch.Tensor {
	return torch.Linear(x, weight, bias)
}

// EmbeddingOptions are the rarer arguments of [Embedding].
type EmbeddingOptions struct {
	PaddingIdx      *int // this row gets no gradient; negative counts from the end; default: none
	ScaleGradByFreq bool // divide gradients by how often the row occurs in x
	Sparse          bool // the gradient of weight is sparse
}

// Embedding looks up rows: x holds integers below n in any shape, weight is [n, dim], the
// result [x's shape..., dim].
func Embedding(x, weight torch.Tensor, o *EmbeddingOptions) torch.Tensor {
	v := or(o)
	if v.PaddingIdx != nil {
		n := weight.Size(0)
		i := *v.PaddingIdx
		if i < -n || i >= n {
			torch.Throw("embedding", torch.KindIndex, "PaddingIdx %d is not a row of a weight of %d", i, n)
		}
		if i < 0 {
			i += n
		}
		v.PaddingIdx = &i
	}
	return torch.Embedding(weight, x, torch.EmbeddingOptions{PaddingIdx: v.PaddingIdx, ScaleGradByFreq: v.ScaleGradByFreq, Sparse: v.Sparse})
}
