package functional

import (
	"math"
	"slices"
	"sync"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/internal/versions"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// project makes the queries, keys and values that are compared.
func (a *attention) project(query, key, value torch.Tensor) {
	if a.UseSeparateProjWeight {
		a.projectSeparately(query, key, value)
		return
	}
	if !a.InProjWeight.Defined() {
		a.refuse("use_separate_proj_weight is False but in_proj_weight is None")
	}
	e := query.Size(-1)
	switch w, b := a.InProjWeight, a.InProjBias; {
	case key.Is(value) && query.Is(key):
		all := stacked(aten.Linear(query, w, b), 3, e)
		a.q, a.k, a.v = all.Select(0, 0), all.Select(0, 1), all.Select(0, 2)
	case key.Is(value):
		ws := w.SplitWithSizes([]int{e, 2 * e})
		bs := make([]torch.Tensor, 2)
		if b.Defined() {
			bs = b.SplitWithSizes([]int{e, 2 * e})
		}
		a.q = aten.Linear(query, ws[0], bs[0])
		both := stacked(aten.Linear(key, ws[1], bs[1]), 2, e)
		a.k, a.v = both.Select(0, 0), both.Select(0, 1)
	default:
		ws, bs := a.thirds("in_proj_weight", w), a.thirds("in_proj_bias", b)
		a.q, a.k, a.v = aten.Linear(query, ws[0], bs[0]), aten.Linear(key, ws[1], bs[1]), aten.Linear(value, ws[2], bs[2])
	}
}

// stacked turns [..., n*e] into [n, ..., e].
func stacked(x torch.Tensor, n, e int) torch.Tensor {
	return x.Unflatten(-1, n, e).Unsqueeze(0).Transpose(0, -2).SqueezeDim(-2).Contiguous()
}

// thirds are the three parts of t, or none.
func (a *attention) thirds(name string, t torch.Tensor) []torch.Tensor {
	if !t.Defined() {
		return make([]torch.Tensor, 3)
	}
	parts := t.Chunk(3)
	if len(parts) != 3 {
		a.refuse("expecting %s of 3 times the embedding dimension, but got one of shape %s", name, pytext.Size(t.Shape()))
	}
	return parts
}

func (a *attention) projectSeparately(query, key, value torch.Tensor) {
	weights := []torch.Tensor{a.QProjWeight, a.KProjWeight, a.VProjWeight}
	for i, name := range []string{"q", "k", "v"} {
		if !weights[i].Defined() {
			a.refuse("use_separate_proj_weight is True but %s_proj_weight is None", name)
		}
	}
	bs := a.thirds("in_proj_bias", a.InProjBias)
	e := query.Size(-1)
	names := []string{"query", "key", "value"}
	inputs := []torch.Tensor{query, key, value}
	for i, name := range names {
		if got, want := weights[i].Shape(), []int{e, inputs[i].Size(-1)}; !slices.Equal(got, want) {
			a.refuse("expecting %s weights shape of %s, but got %s", name, pytext.Tuple(want), pytext.Size(got))
		}
	}
	for i, name := range names {
		if !bs[i].Defined() {
			continue
		}
		if got, want := bs[i].Shape(), []int{e}; !slices.Equal(got, want) {
			a.refuse("expecting %s bias shape of %s, but got %s", name, pytext.Tuple(want), pytext.Size(got))
		}
	}
	a.q, a.k, a.v = aten.Linear(query, weights[0], bs[0]), aten.Linear(key, weights[1], bs[1]), aten.Linear(value, weights[2], bs[2])
}

// checkMask wants a mask for each query and key, and one for each head or for all.
func (a *attention) checkMask(keys int) {
	if !a.AttnMask.Defined() {
		return
	}
	got := a.AttnMask.Shape()
	want := []int{a.batch * a.heads, a.length, keys}
	want = want[3-len(got):]
	if !slices.Equal(got, want) {
		a.refuse("The shape of the %dD attn_mask is %s, but should be %s.", len(got), pytext.Size(got), pytext.Tuple(want))
	}
	if len(got) == 2 {
		a.AttnMask = a.AttnMask.Unsqueeze(0)
	}
}

// addBias adds one more key and value to every example.
func (a *attention) addBias() {
	switch k, v := a.BiasK.Defined(), a.BiasV.Defined(); {
	case k && v:
		if a.StaticK.Defined() {
			a.refuse("bias cannot be added to static key.")
		}
		if a.StaticV.Defined() {
			a.refuse("bias cannot be added to static value.")
		}
		a.k = torch.Cat([]torch.Tensor{a.k, a.BiasK.Repeat(1, a.batch, 1)})
		a.v = torch.Cat([]torch.Tensor{a.v, a.BiasV.Repeat(1, a.batch, 1)})
		a.widenMasks()
	case k:
		a.refuse("bias_k is set but bias_v is None")
	case v:
		a.refuse("bias_v is set but bias_k is None")
	}
}

// widenMasks lets every query attend to one more key.
func (a *attention) widenMasks() {
	for _, mask := range []*torch.Tensor{&a.AttnMask, &a.KeyPaddingMask} {
		if mask.Defined() {
			*mask = aten.Pad(*mask, []int{0, 1})
		}
	}
}

// splitHeads brings all to [N*heads, length, E/heads].
func (a *attention) splitHeads() {
	n, dim := a.batch*a.heads, a.embed/a.heads
	split := func(x torch.Tensor) torch.Tensor { return x.View(x.Size(0), n, dim).Transpose(0, 1) }
	static := func(name string, x, projected torch.Tensor) torch.Tensor {
		if !x.Defined() {
			return split(projected)
		}
		if x.Size(0) != n {
			a.refuse("expecting %s.size(0) of %d, but got %d", name, n, x.Size(0))
		}
		if x.Size(2) != dim {
			a.refuse("expecting %s.size(2) of %d, but got %d", name, dim, x.Size(2))
		}
		return x
	}
	a.q, a.k, a.v = split(a.q), static("static_k", a.StaticK, a.k), static("static_v", a.StaticV, a.v)
}

func (a *attention) addZeros() {
	if !a.AddZeroAttn {
		return
	}
	for _, x := range []*torch.Tensor{&a.k, &a.v} {
		zeros := torch.TensorOptions{DType: x.DType(), Device: x.Device()}.Zeros(a.batch*a.heads, 1, a.embed/a.heads)
		*x = torch.Cat([]torch.Tensor{*x, zeros}, 1)
	}
	a.widenMasks()
}

// mergeMasks adds the mask of the keys to that of the scores.
func (a *attention) mergeMasks() {
	if !a.KeyPaddingMask.Defined() {
		return
	}
	keys, got := a.k.Size(1), a.KeyPaddingMask.Shape()
	for i, want := range []int{a.batch, keys} {
		if got[i] != want {
			a.refuse("Expected key_padded_mask.shape[%d] to be %d, but got %d", i, want, got[i])
		}
	}
	mask := a.KeyPaddingMask.View(a.batch, 1, 1, keys).Expand(-1, a.heads, -1, -1).Reshape(a.batch*a.heads, 1, keys)
	if a.AttnMask.Defined() {
		mask = a.AttnMask.Add(mask)
	}
	a.AttnMask = mask
}

// explicit computes the attention weights, and the output with them.
func (a *attention) explicit() (output, weights torch.Tensor) {
	keys, dim := a.k.Size(1), a.q.Size(2)
	scaled, across := a.q.MulScalar(math.Sqrt(1/float64(dim))), a.k.Transpose(-2, -1)
	if a.AttnMask.Defined() {
		weights = a.AttnMask.BAddBMM(scaled, across)
	} else {
		weights = scaled.BMM(across)
	}
	weights = weights.Softmax(-1)
	if a.DropoutP > 0 {
		weights = Dropout(weights, a.DropoutP, true)
	}
	output = a.rows(weights.BMM(a.v).Transpose(0, 1))
	weights = weights.View(a.batch, a.heads, a.length, keys)
	if !a.WeightsPerHead {
		weights = weights.MeanDim([]int{1})
	}
	return a.projectOut(output), weights
}

// fast calls libtorch's attention.
func (a *attention) fast() torch.Tensor {
	keys, dim := a.k.Size(1), a.embed/a.heads
	if mask := a.AttnMask; mask.Defined() {
		if mask.Size(0) == 1 && mask.Dim() == 3 {
			a.AttnMask = mask.Unsqueeze(0)
		} else {
			a.AttnMask = mask.View(a.batch, a.heads, -1, keys)
		}
	}
	split := func(x torch.Tensor, length int) torch.Tensor { return x.View(a.batch, a.heads, length, dim) }
	output := aten.ScaledDotProductAttention(split(a.q, a.length), split(a.k, keys), split(a.v, keys),
		aten.ScaledDotProductAttentionOptions{AttnMask: a.AttnMask, DropoutP: a.DropoutP, IsCausal: a.IsCausal})
	return a.projectOut(a.rows(output.Permute(2, 0, 1, 3)))
}

// rows are the heads side by side. Python's own code copies them where they do not lie so, and from 2.15 on leaves them as they are where
// strides can say it: then the product that follows is another one of MKL's, which on some processors rounds otherwise.
func (a *attention) rows(heads torch.Tensor) torch.Tensor {
	if pythonOf215() {
		return heads.Reshape(a.length*a.batch, a.embed)
	}
	return heads.Contiguous().View(a.length*a.batch, a.embed)
}

// pythonOf215 tells whether Python's code is that of libtorch 2.15 or later.
var pythonOf215 = sync.OnceValue(versions.Difference{What: "torch.nn.functional's attention leaves heads as they lie", Since: 215}.Holds)

func (a *attention) projectOut(x torch.Tensor) torch.Tensor {
	x = aten.Linear(x, a.OutProjWeight, a.OutProjBias)
	return x.View(a.length, a.batch, x.Size(1))
}
