package functional

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// ScaledDotProductAttentionOptions are the rarer arguments of [ScaledDotProductAttention]:
// AttnMask, booleans (true: attend) or numbers added to the scores, broadcast to
// [N, ..., L, S]; DropoutP, which applies whether training or not; IsCausal, for which a
// query attends to no key after its own place; Scale of the scores, by default 1/sqrt(E);
// EnableGQA, for which groups of queries share keys and values.
type ScaledDotProductAttentionOptions = aten.ScaledDotProductAttentionOptions

// ScaledDotProductAttention is softmax(query·keyᵀ/sqrt(E))·value: query [N, ..., L, E], key
// [N, ..., S, E], value [N, ..., S, Ev], result [N, ..., L, Ev]. libtorch picks the kernel.
func ScaledDotProductAttention(query, key, value torch.Tensor, opts ...ScaledDotProductAttentionOptions) torch.Tensor {
	return aten.ScaledDotProductAttention(query, key, value, option.One(opts))
}

// MultiHeadAttentionOptions are the weights and the rarer arguments of
// [MultiHeadAttentionForward]. E is the embedding dimension, N the batch, L and S the
// lengths of the queries and of the keys.
type MultiHeadAttentionOptions struct {
	InProjWeight torch.Tensor // [3E, E], which makes queries, keys and values
	InProjBias   torch.Tensor // [3E]; default: none

	UseSeparateProjWeight                 bool // the next three in the place of InProjWeight
	QProjWeight, KProjWeight, VProjWeight torch.Tensor
	OutProjWeight, OutProjBias            torch.Tensor // [E, E] and [E]; the bias may be missing
	BiasK, BiasV                          torch.Tensor // [1, 1, E], a key and a value more; default: none
	StaticK, StaticV                      torch.Tensor // [N*heads, S, E/heads], in the place of the projected ones
	AddZeroAttn                           bool         // a key and a value of zeros more
	DropoutP                              float64      // of the attention weights; leave it 0 unless training
	KeyPaddingMask                        torch.Tensor // [N, S] or [S]: keys to pass over (true), or numbers added to their scores
	AttnMask                              torch.Tensor // [L, S] or [N*heads, L, S]: scores to pass over (true), or numbers added to them
	IsCausal                              bool         // AttnMask, which has to be there all the same, passes over later keys
	NoWeights                             bool         // do not return the attention weights, which lets libtorch pick a faster kernel
	WeightsPerHead                        bool         // return the weights of each head; default: their mean
}

// MultiHeadAttentionForward lets each of L queries, in several heads, attend to S keys:
// query [L, N, E], key and value [S, N, ...]; or all of them without the N. The results are
// output [L, N, E] and the attention weights [N, L, S], or [N, heads, L, S] per head;
// undefined for NoWeights. embedDim is E, which heads divides.
func MultiHeadAttentionForward(query, key, value torch.Tensor, embedDim, heads int,
	opts ...MultiHeadAttentionOptions) (output, weights torch.Tensor) {
	o := option.One(opts)
	torch.Scope(func() {
		a := attention{MultiHeadAttentionOptions: o, heads: heads}
		batched := a.checkDims(query, key, value)
		if !batched {
			query, key, value = query.Unsqueeze(1), key.Unsqueeze(1), value.Unsqueeze(1)
			if a.KeyPaddingMask.Defined() {
				a.KeyPaddingMask = a.KeyPaddingMask.Unsqueeze(0)
			}
		}
		a.length, a.batch, a.embed = query.Size(0), query.Size(1), query.Size(2)
		a.canonicalMasks(query.DType())
		a.checkSizes(key, value, embedDim)
		a.project(query, key, value)
		a.checkMask(key.Size(0))
		a.addBias()
		a.splitHeads()
		a.addZeros()
		a.mergeMasks()
		if a.NoWeights {
			output = a.fast()
		} else {
			output, weights = a.explicit()
		}
		if !batched {
			output = output.SqueezeDim(1)
			if weights.Defined() {
				weights = weights.SqueezeDim(0)
			}
		}
		output, weights = output.MoveOut(), weights.MoveOut()
	})
	return output, weights
}

// attention is a call of MultiHeadAttentionForward under way.
type attention struct {
	MultiHeadAttentionOptions
	heads, batch, length, embed int
	q, k, v                     torch.Tensor
}

// refuse panics in PyTorch's words.
func (a *attention) refuse(format string, args ...any) {
	torch.Throw("multi_head_attention_forward", torch.KindGeneric, format, args...)
}

func (a *attention) checkDims(query, key, value torch.Tensor) (batched bool) {
	n := query.Dim()
	if n != 2 && n != 3 {
		a.refuse("query should be unbatched 2D or batched 3D tensor but received %d-D query tensor", n)
	}
	of := "unbatched"
	if n == 3 {
		of = "batched"
	}
	if k, v := key.Dim(), value.Dim(); k != n || v != n {
		a.refuse("For %s (%d-D) `query`, expected `key` and `value` to be %d-D but found %d-D and %d-D tensors respectively", of, n, n, k, v)
	}
	if m := a.KeyPaddingMask; m.Defined() && m.Dim() != n-1 {
		a.refuse("For %s (%d-D) `query`, expected `key_padding_mask` to be `None` or %d-D but found %d-D tensor instead", of, n, n-1, m.Dim())
	}
	if !a.AttnMask.Defined() {
		return n == 3
	}
	mask := a.AttnMask.Shape()
	if len(mask) != 2 && len(mask) != 3 {
		a.refuse("For %s (%d-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found %d-D tensor instead", of, n, len(mask))
	}
	if want := []int{a.heads, query.Size(0), key.Size(0)}; n == 2 && len(mask) == 3 && !slices.Equal(mask, want) {
		a.refuse("Expected `attn_mask` shape to be %s but got %s", pytext.Tuple(want), pytext.Size(mask))
	}
	return n == 3
}

// canonicalMasks makes numbers of boolean masks.
func (a *attention) canonicalMasks(dtype torch.DType) {
	if a.KeyPaddingMask.Defined() && a.AttnMask.Defined() && a.KeyPaddingMask.DType() != a.AttnMask.DType() {
		torch.Warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.")
	}
	a.KeyPaddingMask = a.canonical(a.KeyPaddingMask, "key_padding_mask", dtype)
	if a.IsCausal && !a.AttnMask.Defined() {
		a.refuse("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method " +
			"`generate_square_subsequent_mask` to create this mask.")
	}
	padded := a.KeyPaddingMask.Defined()
	if a.IsCausal && !padded && a.NoWeights {
		a.AttnMask = torch.Tensor{} // the kernel knows what is causal
		return
	}
	a.AttnMask = a.canonical(a.AttnMask, "attn_mask", dtype)
	a.IsCausal = a.IsCausal && !padded
}

func (a *attention) canonical(mask torch.Tensor, name string, dtype torch.DType) torch.Tensor {
	if !mask.Defined() || mask.IsFloatingPoint() {
		return mask
	}
	if mask.DType() != torch.Bool {
		a.refuse("only bool and floating types of %s are supported", name)
	}
	return torch.ZerosLike(mask, torch.TensorOptions{DType: dtype}).MaskedFillInPlace(mask, math.Inf(-1))
}

func (a *attention) checkSizes(key, value torch.Tensor, embedDim int) {
	if a.embed != embedDim {
		a.refuse("was expecting embedding dimension of %d, but got %d", embedDim, a.embed)
	}
	if a.heads <= 0 || a.embed%a.heads != 0 {
		a.refuse("embed_dim %d not divisible by num_heads %d", a.embed, a.heads)
	}
	k, v := key.Shape(), value.Shape()
	switch {
	case a.UseSeparateProjWeight && !slices.Equal(k[:2], v[:2]):
		a.refuse("key's sequence and batch dims %s do not match value's %s", pytext.Size(k[:2]), pytext.Size(v[:2]))
	case !a.UseSeparateProjWeight && !slices.Equal(k, v):
		a.refuse("key shape %s does not match value shape %s", pytext.Size(k), pytext.Size(v))
	}
}
