package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// EmbeddingOptions are the rarer arguments of [Embedding].
type EmbeddingOptions struct {
	PaddingIdx      *int     // this row gets no gradient; negative counts from the end; default: none
	MaxNorm         *float64 // rows in use whose norm is larger are scaled down to it, in weight itself; default: none
	NormType        *float64 // which norm that is; default 2
	ScaleGradByFreq bool     // divide gradients by how often the row occurs in x
	Sparse          bool     // the gradient of weight is sparse
}

// Embedding looks up rows: x holds integers below n in any shape, weight is [n, dim], the
// result [x's shape..., dim].
func Embedding(x, weight torch.Tensor, opts ...EmbeddingOptions) torch.Tensor {
	v := option.One(opts)
	if v.PaddingIdx != nil {
		n := weight.Size(0)
		i := *v.PaddingIdx
		if i < -n || i > 0 && i >= n {
			torch.Throw("embedding", torch.KindGeneric, "Padding_idx must be within num_embeddings")
		}
		if i < 0 {
			i += n
		}
		v.PaddingIdx = &i
	}
	if v.MaxNorm != nil {
		x = x.Contiguous()
		defer x.Close()
		renorm(weight, x, *v.MaxNorm, v.NormType)
	}
	return aten.Embedding(weight, x, aten.EmbeddingOptions{PaddingIdx: v.PaddingIdx, ScaleGradByFreq: v.ScaleGradByFreq, Sparse: v.Sparse})
}

// renorm scales the rows of weight that x names down to a norm.
func renorm(weight, x torch.Tensor, maxNorm float64, normType *float64) {
	torch.NoGrad(func() {
		rows := weight.Detach()
		defer rows.Close()
		aten.EmbeddingRenormInPlace(rows, x, maxNorm, orFloat(normType, 2))
	})
}

// EmbeddingBagOptions are the rarer arguments of [EmbeddingBag].
type EmbeddingBagOptions struct {
	Offsets           torch.Tensor // [B], where each bag begins in x [N]: ascending integers from 0 on
	MaxNorm           *float64     // rows in use whose norm is larger are scaled down to it, in weight itself; default: none
	NormType          *float64     // which norm that is; default 2
	ScaleGradByFreq   bool         // divide gradients by how often the row occurs in x; not for "max"
	Mode              string       // "sum", "mean" or "max"; default "mean"
	Sparse            bool         // the gradient of weight is sparse; not for "max"
	PerSampleWeights  torch.Tensor // of each row, in x's shape; for "sum" only
	IncludeLastOffset bool         // Offsets end with the end of the last bag
	PaddingIdx        *int         // rows to pass over; negative counts from the end; default: none
}

var bagModes = []string{"sum", "mean", "max"}

// EmbeddingBag is the mean, sum or maximum of rows of weight [n, dim], without the rows
// themselves: x holds integers below n, [B, L] for B bags of one length or [N] for bags
// that begin at the offsets. The result is [B, dim].
func EmbeddingBag(x, weight torch.Tensor, opts ...EmbeddingBagOptions) torch.Tensor {
	v := option.One(opts)
	if v.Mode == "" {
		v.Mode = "mean"
	}
	v.check(x, weight)
	return torch.Scope1(func() torch.Tensor {
		if x.Dim() == 2 {
			v.Offsets = torch.TensorOptions{DType: x.DType(), Device: x.Device()}.ArangeStep(0, x.NumEl(), x.Size(1))
			v.IncludeLastOffset = false
			x = x.Reshape(-1)
			if v.PerSampleWeights.Defined() {
				v.PerSampleWeights = v.PerSampleWeights.Reshape(-1)
			}
		}
		if v.MaxNorm != nil {
			renorm(weight, x, *v.MaxNorm, v.NormType)
		}
		if v.PerSampleWeights.Defined() && v.Mode != "sum" {
			torch.Throw("embedding_bag", torch.KindNotImplemented,
				"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='%s'). "+
					"Please open a feature request on GitHub.", v.Mode)
		}
		bags, _, _, _ := aten.EmbeddingBagPaddingIdx(weight, x, v.Offsets, v.ScaleGradByFreq, slices.Index(bagModes, v.Mode), v.Sparse,
			v.PerSampleWeights, v.IncludeLastOffset, v.PaddingIdx)
		return bags
	})
}

// check refuses the arguments that PyTorch refuses, and offsets that do not ascend,
// with which libtorch would read outside of x.
func (o *EmbeddingBagOptions) check(x, weight torch.Tensor) {
	const op = "embedding_bag"
	refuse := func(format string, args ...any) { torch.Throw(op, torch.KindValue, format, args...) }
	if w := o.PerSampleWeights; w.Defined() && !slices.Equal(w.Shape(), x.Shape()) {
		refuse("embedding_bag: If per_sample_weights (%s) is not None, then it must have the same shape as the input (%s)",
			pytext.Size(w.Shape()), pytext.Size(x.Shape()))
	}
	if n := weight.Dim(); n != 2 {
		refuse("weight has to be a 2D Tensor, but got Tensor of dimension %d", n)
	}
	switch n := x.Dim(); {
	case n == 2 && o.Offsets.Defined():
		refuse("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. " +
			"However, found offsets of type <class 'torch.Tensor'>")
	case n == 1 && !o.Offsets.Defined():
		refuse("offsets has to be a 1D Tensor but got None")
	case n == 1 && o.Offsets.Dim() != 1:
		refuse("offsets has to be a 1D Tensor")
	case n != 1 && n != 2:
		refuse("input has to be 1D or 2D Tensor, but got Tensor of dimension %d", n)
	}
	switch {
	case !slices.Contains(bagModes, o.Mode):
		refuse("mode has to be one of sum, mean or max")
	case o.Mode == "max" && o.ScaleGradByFreq:
		refuse("max mode does not support scaling the gradient by the frequency")
	case o.Mode == "max" && o.Sparse:
		refuse("max mode does not support sparse weights")
	}
}

// OneHot turns integers below classes into vectors that are 1 in that place and 0 elsewhere:
// x of any shape, result [x's shape..., classes], int64. With PyTorch's default classes, -1,
// there are as many as the largest integer in x asks for.
func OneHot(x torch.Tensor, classes int) torch.Tensor { return aten.OneHot(x, classes) }
