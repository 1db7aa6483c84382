package nn

import (
	"cmp"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// TransformerEncoder is a stack of encoder layers.
type TransformerEncoder struct {
	Layers []*TransformerEncoderLayer
	Norm   *LayerNorm // of the result, or nil
}

// TransformerDecoder is a stack of decoder layers.
type TransformerDecoder struct {
	Layers []*TransformerDecoderLayer
	Norm   *LayerNorm // of the result, or nil
}

// TransformerEncoderOptions are the rarer arguments of [NewTransformerEncoder].
type TransformerEncoderOptions struct {
	Norm *LayerNorm // of the result, part of the stack; default: none
}

// NewTransformerEncoder makes a stack of that many copies of a layer, all with its initial
// values. The layer itself is not among them.
func NewTransformerEncoder(layer *TransformerEncoderLayer, layers int, opts ...TransformerEncoderOptions) *TransformerEncoder {
	return &TransformerEncoder{clones("transformer_encoder", layer, layers), option.One(opts).Norm}
}

// TransformerDecoderOptions are the rarer arguments of [NewTransformerDecoder].
type TransformerDecoderOptions struct {
	Norm *LayerNorm // of the result, part of the stack; default: none
}

// NewTransformerDecoder makes a stack of that many copies of a layer, all with its initial
// values. The layer itself is not among them.
func NewTransformerDecoder(layer *TransformerDecoderLayer, layers int, opts ...TransformerDecoderOptions) *TransformerDecoder {
	return &TransformerDecoder{clones("transformer_decoder", layer, layers), option.One(opts).Norm}
}

// mostLayers is how many a module makes: a number beyond is a mistake that would take all
// memory before anything refuses it.
const mostLayers = 1 << 16

func clones[M any](op string, m M, n int) (list []M) {
	if n < 0 || n > mostLayers {
		torch.Throw(op, torch.KindValue, "expected 0 to %d layers, got %d", mostLayers, n)
	}
	for range n {
		list = append(list, Clone(m))
	}
	return list
}

// leading is the first of a stack's layers, which says how sequences lie.
func leading[M any](op string, layers []M) M {
	if len(layers) == 0 {
		torch.Throw(op, torch.KindIndex, "there are no layers")
	}
	return layers[0]
}

// Forward maps [L, N, E] to the same, or all without the N; BatchFirst moves the N to the
// front.
func (e *TransformerEncoder) Forward(x torch.Tensor) torch.Tensor { return e.ForwardMasked(x) }

// ForwardMasked is Forward with masks. As in PyTorch a mask that is [SubsequentMask] counts
// as causal, which lets libtorch pick a faster kernel.
func (e *TransformerEncoder) ForwardMasked(x torch.Tensor, opts ...MaskOptions) torch.Tensor {
	o := option.One(opts)
	return Hooked(e, x, func(x torch.Tensor) torch.Tensor { return e.forward(x, o) })
}

func (e *TransformerEncoder) forward(x torch.Tensor, m MaskOptions) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		if m.Mask.Defined() && m.Mask.DType() == torch.Bool {
			m.Mask = torch.ZerosLike(m.Mask, torch.TensorOptions{DType: x.DType()}).MaskedFillInPlace(m.Mask, math.Inf(-1))
		}
		m.IsCausal = m.IsCausal || isCausal(m.Mask, length(x, leading("transformer_encoder", e.Layers).SelfAttn))
		y := x
		for _, layer := range e.Layers {
			y = layer.ForwardMasked(y, m)
		}
		return normed(y, e.Norm)
	})
}

// Forward maps a sequence [L, N, E] and the encoder's results [S, N, E] to [L, N, E], or all
// without the N; BatchFirst moves the N to the front. As in PyTorch a mask of the target
// that is [SubsequentMask] counts as causal, which lets libtorch pick a faster kernel.
func (d *TransformerDecoder) Forward(x, memory torch.Tensor, opts ...DecoderMasks) (y torch.Tensor) {
	o := option.One(opts)
	HookedAll(d, refs{&x, &memory}, refs{&y}, func() { y = d.forward(x, memory, o) })
	return y
}

func (d *TransformerDecoder) forward(x, memory torch.Tensor, m DecoderMasks) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		m.Target.IsCausal = m.Target.IsCausal || isCausal(m.Target.Mask, length(x, leading("transformer_decoder", d.Layers).SelfAttn))
		y := x
		for _, layer := range d.Layers {
			y = layer.Forward(y, memory, m)
		}
		return normed(y, d.Norm)
	})
}

func normed(x torch.Tensor, norm *LayerNorm) torch.Tensor {
	if norm == nil {
		return x
	}
	return norm.Forward(x)
}

// length is that of the sequence x.
func length(x torch.Tensor, a *MultiheadAttention) int {
	if x.Dim() == 3 && a.Options.BatchFirst {
		return x.Size(1)
	}
	return x.Size(0)
}

// SubsequentMask passes over later keys: [n, n], -∞ above the diagonal and 0 elsewhere.
func SubsequentMask(n int, o torch.TensorOptions) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return o.Full([]int{n, n}, math.Inf(-1)).Triu(1) })
}

func isCausal(mask torch.Tensor, n int) bool {
	if !mask.Defined() || !slices.Equal(mask.Shape(), []int{n, n}) {
		return false
	}
	causal := SubsequentMask(n, torch.TensorOptions{DType: mask.DType(), Device: mask.Device()})
	defer causal.Close()
	return mask.Equal(causal)
}

// Transformer is an encoder and a decoder (Vaswani et al., 2017).
type Transformer struct {
	Encoder *TransformerEncoder
	Decoder *TransformerDecoder
	Embed   int
}

// TransformerOptions are the arguments of [NewTransformer].
type TransformerOptions struct {
	DModel           int                     // features of the embeddings; default 512
	NHead            int                     // heads of attention; default 8
	NumEncoderLayers int                     // default 6
	NumDecoderLayers int                     // default 6
	Layer            TransformerLayerOptions // of all layers
}

// NewTransformer makes a model. All weights of two dimensions are drawn by
// [nninit.XavierUniform].
func NewTransformer(opts ...TransformerOptions) *Transformer {
	v := option.One(opts)
	embed, heads := cmp.Or(v.DModel, 512), cmp.Or(v.NHead, 8)
	norm := newParts(embed, heads, v.Layer).norm
	e := NewTransformerEncoderLayer(embed, heads, v.Layer)
	d := NewTransformerDecoderLayer(embed, heads, v.Layer)
	defer Close(e)
	defer Close(d)
	t := &Transformer{
		NewTransformerEncoder(e, cmp.Or(v.NumEncoderLayers, 6), TransformerEncoderOptions{norm()}),
		NewTransformerDecoder(d, cmp.Or(v.NumDecoderLayers, 6), TransformerDecoderOptions{norm()}), embed,
	}
	for _, p := range Parameters(t) {
		if p.Dim() > 1 {
			nninit.XavierUniform(p)
		}
	}
	return t
}

// TransformerMasks say what encoder and decoder may attend to.
type TransformerMasks struct {
	Source MaskOptions // the encoder, in the source
	DecoderMasks
}

// Forward maps a source [S, N, E] and a target [L, N, E] to [L, N, E], or all without the N;
// BatchFirst moves the N to the front.
func (t *Transformer) Forward(source, target torch.Tensor, opts ...TransformerMasks) (y torch.Tensor) {
	o := option.One(opts)
	HookedAll(t, refs{&source, &target}, refs{&y}, func() { y = t.forward(source, target, o) })
	return y
}

func (t *Transformer) forward(source, target torch.Tensor, m TransformerMasks) torch.Tensor {
	batch := 1
	if leading("transformer", t.Encoder.Layers).SelfAttn.Options.BatchFirst {
		batch = 0
	}
	if source.Dim() == 3 && source.Size(batch) != target.Size(batch) {
		torch.Throw("transformer", torch.KindGeneric, "the batch number of src and tgt must be equal")
	}
	if source.Size(-1) != t.Embed || target.Size(-1) != t.Embed {
		torch.Throw("transformer", torch.KindGeneric, "the feature number of src and tgt must be equal to d_model")
	}
	memory := t.Encoder.ForwardMasked(source, m.Source)
	defer memory.Close()
	return t.Decoder.Forward(target, memory, m.DecoderMasks)
}
