package nn

import (
	"cmp"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// MultiheadAttention lets queries attend to keys in several heads (Vaswani et al., 2017). E
// is the embedding dimension.
type MultiheadAttention struct {
	InProjWeight torch.Tensor // [3E, E], which makes queries, keys and values; undefined for KDim or VDim
	QProjWeight  torch.Tensor // [E, E], these three in its place
	KProjWeight  torch.Tensor // [E, KDim]
	VProjWeight  torch.Tensor // [E, VDim]
	InProjBias   torch.Tensor // [3E], or undefined
	BiasK, BiasV torch.Tensor // [1, 1, E], or undefined
	OutProj      *Linear
	Mode         Mode
	Embed, Heads int
	Options      MultiheadAttentionOptions
}

// MultiheadAttentionOptions are the rarer arguments of [NewMultiheadAttention].
type MultiheadAttentionOptions struct {
	Dropout     float64 // of the attention weights, in training; default 0
	NoBias      bool    // in the projections
	AddBiasKV   bool    // one more key and value, which are learned
	AddZeroAttn bool    // one more key and value, which are zeros
	KDim, VDim  int     // features of keys and values; default E
	BatchFirst  bool    // all are [N, L, E]; default: [L, N, E]
}

// NewMultiheadAttention makes a layer for embeddings of that many features, which the number
// of heads divides. The weights that make queries, keys and values are drawn by
// [nninit.XavierUniform], and their biases are zeros.
func NewMultiheadAttention(embed, heads int, opts ...MultiheadAttentionOptions) *MultiheadAttention {
	const op = "multihead_attention"
	if embed <= 0 || heads <= 0 {
		torch.Throw(op, torch.KindValue, "embed_dim and num_heads must be greater than 0, got embed_dim=%d and num_heads=%d instead",
			embed, heads)
	}
	if embed%heads != 0 {
		torch.Throw(op, torch.KindGeneric, "embed_dim must be divisible by num_heads")
	}
	v := option.One(opts)
	a := &MultiheadAttention{Embed: embed, Heads: heads, Options: v}
	a.OutProj = NewLinear(embed, embed, LinearOptions{NoBias: v.NoBias}) // draws before the others do
	create(func() {
		weight := func(out, in int) torch.Tensor {
			return nninit.XavierUniform(torch.Empty(out, in)).SetRequiresGrad(true)
		}
		if a.separate() {
			a.QProjWeight = weight(embed, embed)
			a.KProjWeight = weight(embed, cmp.Or(v.KDim, embed))
			a.VProjWeight = weight(embed, cmp.Or(v.VDim, embed))
		} else {
			a.InProjWeight = weight(3*embed, embed)
		}
		if !v.NoBias {
			a.InProjBias = torch.Zeros(3 * embed).SetRequiresGrad(true)
			a.OutProj.Bias.ZeroInPlace()
		}
		if v.AddBiasKV {
			a.BiasK = nninit.XavierNormal(torch.Empty(1, 1, embed)).SetRequiresGrad(true)
			a.BiasV = nninit.XavierNormal(torch.Empty(1, 1, embed)).SetRequiresGrad(true)
		}
	})
	return a
}

// AttentionOptions are the rarer arguments of [MultiheadAttention.Forward].
type AttentionOptions struct {
	KeyPaddingMask torch.Tensor // [N, S] or [S]: keys to pass over (true), or numbers added to their scores
	AttnMask       torch.Tensor // [L, S] or [N*heads, L, S]: scores to pass over (true), or numbers added to them
	IsCausal       bool         // AttnMask is causal; it must be given all the same
	NoWeights      bool         // do not return the attention weights, which lets libtorch pick a faster kernel
	WeightsPerHead bool         // return the weights of each head; default: their mean
}

// Forward maps queries [L, N, E], keys [S, N, KDim] and values [S, N, VDim] to results
// [L, N, E] and attention weights [N, L, S], or [N, heads, L, S] per head; undefined for
// NoWeights. All may be without the N; BatchFirst moves it to the front.
func (a *MultiheadAttention) Forward(query, key, value torch.Tensor, opts ...AttentionOptions) (output, weights torch.Tensor) {
	o := option.One(opts)
	HookedAll(a, refs{&query, &key, &value}, refs{&output, &weights}, func() {
		output, weights = a.forward(query, key, value, o)
	})
	return output, weights
}

func (a *MultiheadAttention) forward(query, key, value torch.Tensor, v AttentionOptions) (output, weights torch.Tensor) {
	if a.fused(query, key, value, v) {
		torch.Unsafe(func() { // fused has looked at what the kernel trusts
			output, weights = aten.NativeMultiHeadAttention(query, key, value, a.Embed, a.Heads,
				a.InProjWeight, a.InProjBias, a.OutProj.Weight, a.OutProj.Bias,
				aten.NativeMultiHeadAttentionOptions{NoNeedWeights: v.NoWeights, NoAverageAttnWeights: v.WeightsPerHead})
		})
		return output, weights
	}
	torch.Scope(func() {
		swap := a.Options.BatchFirst && query.Dim() == 3
		if swap {
			query, key, value = swapped(query, key, value)
		}
		dropout := 0.0
		if a.Mode.Training() {
			dropout = a.Options.Dropout
		}
		output, weights = F.MultiHeadAttentionForward(query, key, value, a.Embed, a.Heads, F.MultiHeadAttentionOptions{
			InProjWeight: a.InProjWeight, InProjBias: a.InProjBias, UseSeparateProjWeight: a.separate(),
			QProjWeight: a.QProjWeight, KProjWeight: a.KProjWeight, VProjWeight: a.VProjWeight,
			OutProjWeight: a.OutProj.Weight, OutProjBias: a.OutProj.Bias, BiasK: a.BiasK, BiasV: a.BiasV,
			AddZeroAttn: a.Options.AddZeroAttn, DropoutP: dropout, KeyPaddingMask: v.KeyPaddingMask, AttnMask: v.AttnMask,
			IsCausal: v.IsCausal, NoWeights: v.NoWeights, WeightsPerHead: v.WeightsPerHead})
		if swap {
			output = output.Transpose(1, 0)
		}
		output, weights = output.MoveOut(), weights.MoveOut()
	})
	return output, weights
}

// fused tells whether libtorch's kernel of the whole layer computes this call, as it does in PyTorch: self-attention
// in evaluation, of batches that come first, without gradients, and not for a program. Its results differ in the last bits.
func (a *MultiheadAttention) fused(query, key, value torch.Tensor, v AttentionOptions) bool {
	o := a.Options
	if !query.Is(key) || !key.Is(value) || query.Dim() != 3 || a.Mode.Training() || !o.BatchFirst || a.Heads%2 != 0 ||
		v.AttnMask.Defined() || v.KeyPaddingMask.Defined() || // PyTorch takes some masks this way too
		o.NoBias || o.AddBiasKV || o.AddZeroAttn || a.separate() || query.Size(2) != a.Embed {
		return false
	}
	device, e := query.Device(), a.Embed
	weights := []torch.Tensor{a.InProjWeight, a.InProjBias, a.OutProj.Weight, a.OutProj.Bias}
	for i, shape := range [][]int{{3 * e, e}, {3 * e}, {e, e}, {e}} {
		w := weights[i]
		if !w.Defined() || !slices.Equal(w.Shape(), shape) || w.DType() != query.DType() || w.Device() != device ||
			torch.IsGradEnabled() && (w.RequiresGrad() || query.RequiresGrad()) {
			return false
		}
	}
	return (device.IsCPU() || device.IsCUDA()) && !torch.Autocasting(device).Enabled && !torch.IsExporting()
}

// separate tells whether queries, keys and values have a weight each.
func (a *MultiheadAttention) separate() bool {
	own := func(dim int) bool { return dim != 0 && dim != a.Embed }
	return own(a.Options.KDim) || own(a.Options.VDim)
}

// swapped exchanges the first two dimensions. What was one tensor stays one: the projection
// is a single product then.
func swapped(query, key, value torch.Tensor) (q, k, v torch.Tensor) {
	k = key.Transpose(1, 0)
	q, v = k, k
	if !query.Is(key) || !key.Is(value) {
		q = query.Transpose(1, 0)
	}
	if !value.Is(key) {
		v = value.Transpose(1, 0)
	}
	return q, k, v
}
