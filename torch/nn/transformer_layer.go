package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// TransformerLayerOptions are the rarer arguments of [NewTransformerEncoderLayer] and
// [NewTransformerDecoderLayer].
type TransformerLayerOptions struct {
	DimFeedforward int                               // features between the two linear layers; default 2048
	Dropout        *float64                          // default 0.1
	Activation     func(x torch.Tensor) torch.Tensor // between the two linear layers; default [F.ReLU]
	LayerNormEps   *float64                          // added to the variance in normalisations; default 1e-5
	BatchFirst     bool                              // sequences are [N, L, E]; default: [L, N, E]
	NormFirst      bool                              // normalise before each block, not after it
	NoBias         bool                              // in all parts
}

// TransformerEncoderLayer is a block of self-attention and one of two linear layers (Vaswani
// et al., 2017).
type TransformerEncoderLayer struct {
	SelfAttn   *MultiheadAttention
	Linear1    *Linear
	Dropout    *Dropout
	Linear2    *Linear
	Norm1      *LayerNorm
	Norm2      *LayerNorm
	Dropout1   *Dropout
	Dropout2   *Dropout
	Activation func(x torch.Tensor) torch.Tensor
	NormFirst  bool
}

// TransformerDecoderLayer is a block of self-attention, one of attention to the encoder's
// results and one of two linear layers (Vaswani et al., 2017).
type TransformerDecoderLayer struct {
	SelfAttn      *MultiheadAttention
	MultiheadAttn *MultiheadAttention
	Linear1       *Linear
	Dropout       *Dropout
	Linear2       *Linear
	Norm1         *LayerNorm
	Norm2         *LayerNorm
	Norm3         *LayerNorm
	Dropout1      *Dropout
	Dropout2      *Dropout
	Dropout3      *Dropout
	Activation    func(x torch.Tensor) torch.Tensor
	NormFirst     bool
}

// parts makes the parts of a layer, in the order in which they draw their initial values.
type parts struct {
	embed, heads, feedforward int
	dropout                   float64
	activation                func(x torch.Tensor) torch.Tensor
	TransformerLayerOptions
}

func newParts(embed, heads int, v TransformerLayerOptions) parts {
	p := parts{embed, heads, v.DimFeedforward, or(v.Dropout, 0.1), v.Activation, v}
	if p.feedforward == 0 {
		p.feedforward = 2048
	}
	if p.activation == nil {
		p.activation = F.ReLU
	}
	return p
}

func (p parts) attention() *MultiheadAttention {
	return NewMultiheadAttention(p.embed, p.heads, MultiheadAttentionOptions{Dropout: p.dropout, NoBias: p.NoBias, BatchFirst: p.BatchFirst})
}

func (p parts) linear(in, out int) *Linear {
	return NewLinear(in, out, LinearOptions{NoBias: p.NoBias})
}

func (p parts) norm() *LayerNorm {
	return NewLayerNorm(p.embed, LayerNormOptions{Eps: p.LayerNormEps, NoBias: p.NoBias})
}

// NewTransformerEncoderLayer makes a layer for embeddings of that many features, which the
// number of heads divides.
func NewTransformerEncoderLayer(embed, heads int, opts ...TransformerLayerOptions) *TransformerEncoderLayer {
	p := newParts(embed, heads, option.One(opts))
	return &TransformerEncoderLayer{
		SelfAttn: p.attention(),
		Linear1:  p.linear(embed, p.feedforward), Linear2: p.linear(p.feedforward, embed),
		Norm1: p.norm(), Norm2: p.norm(),
		Dropout: NewDropout(p.dropout), Dropout1: NewDropout(p.dropout), Dropout2: NewDropout(p.dropout),
		Activation: p.activation, NormFirst: p.NormFirst,
	}
}

// NewTransformerDecoderLayer makes a layer for embeddings of that many features, which the
// number of heads divides.
func NewTransformerDecoderLayer(embed, heads int, opts ...TransformerLayerOptions) *TransformerDecoderLayer {
	p := newParts(embed, heads, option.One(opts))
	return &TransformerDecoderLayer{
		SelfAttn: p.attention(), MultiheadAttn: p.attention(),
		Linear1: p.linear(embed, p.feedforward), Linear2: p.linear(p.feedforward, embed),
		Norm1: p.norm(), Norm2: p.norm(), Norm3: p.norm(),
		Dropout: NewDropout(p.dropout), Dropout1: NewDropout(p.dropout), Dropout2: NewDropout(p.dropout), Dropout3: NewDropout(p.dropout),
		Activation: p.activation, NormFirst: p.NormFirst,
	}
}

// MaskOptions say what a sequence may attend to.
type MaskOptions struct {
	Mask           torch.Tensor // [L, S] or [N*heads, L, S]: scores to pass over (true), or numbers added to them
	KeyPaddingMask torch.Tensor // [N, S] or [S]: keys to pass over (true), or numbers added to their scores
	IsCausal       bool         // Mask, which has to be there all the same, passes over later keys
}

func (m MaskOptions) attention() AttentionOptions {
	return AttentionOptions{AttnMask: m.Mask, KeyPaddingMask: m.KeyPaddingMask, IsCausal: m.IsCausal, NoWeights: true}
}

// around adds what a block makes of x to it, with the normalisation before or after.
func around(x torch.Tensor, norm *LayerNorm, first bool, block func(x torch.Tensor) torch.Tensor) torch.Tensor {
	if first {
		return x.Add(block(norm.Forward(x)))
	}
	return norm.Forward(x.Add(block(x)))
}

// attend is a block of attention to memory, or to x itself where that is undefined.
func attend(a *MultiheadAttention, memory torch.Tensor, m MaskOptions, drop *Dropout) func(x torch.Tensor) torch.Tensor {
	return func(x torch.Tensor) torch.Tensor {
		to := memory
		if !to.Defined() {
			to = x
		}
		y, _ := a.Forward(x, to, to, m.attention())
		return drop.Forward(y)
	}
}

// Forward maps [L, N, E] to the same, or all without the N; BatchFirst moves the N to the
// front.
func (l *TransformerEncoderLayer) Forward(x torch.Tensor) torch.Tensor {
	return l.ForwardMasked(x)
}

// ForwardMasked is Forward with masks.
func (l *TransformerEncoderLayer) ForwardMasked(x torch.Tensor, opts ...MaskOptions) torch.Tensor {
	o := option.One(opts)
	return Hooked(l, x, func(x torch.Tensor) torch.Tensor { return l.forward(x, o) })
}

func (l *TransformerEncoderLayer) forward(x torch.Tensor, m MaskOptions) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		y := around(x, l.Norm1, l.NormFirst, attend(l.SelfAttn, torch.Tensor{}, m, l.Dropout1))
		return around(y, l.Norm2, l.NormFirst, func(x torch.Tensor) torch.Tensor {
			return l.Dropout2.Forward(l.Linear2.Forward(l.Dropout.Forward(l.Activation(l.Linear1.Forward(x)))))
		})
	})
}

// DecoderMasks say what the decoder may attend to.
type DecoderMasks struct {
	Target MaskOptions // in its own sequence
	Memory MaskOptions // in the encoder's results
}

// Forward maps a sequence [L, N, E] and the encoder's results [S, N, E] to [L, N, E], or all
// without the N; BatchFirst moves the N to the front.
func (l *TransformerDecoderLayer) Forward(x, memory torch.Tensor, opts ...DecoderMasks) (y torch.Tensor) {
	o := option.One(opts)
	HookedAll(l, refs{&x, &memory}, refs{&y}, func() { y = l.forward(x, memory, o) })
	return y
}

func (l *TransformerDecoderLayer) forward(x, memory torch.Tensor, m DecoderMasks) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		y := around(x, l.Norm1, l.NormFirst, attend(l.SelfAttn, torch.Tensor{}, m.Target, l.Dropout1))
		y = around(y, l.Norm2, l.NormFirst, attend(l.MultiheadAttn, memory, m.Memory, l.Dropout2))
		return around(y, l.Norm3, l.NormFirst, func(x torch.Tensor) torch.Tensor {
			return l.Dropout3.Forward(l.Linear2.Forward(l.Dropout.Forward(l.Activation(l.Linear1.Forward(x)))))
		})
	})
}
