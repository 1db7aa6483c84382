package main

import (
	"bytes"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// A Block is self-attention and a small network for each letter, each added to what comes in.
type Block struct {
	LN1  *nn.LayerNorm `torch:"ln_1"`
	QKV  *nn.Linear    `torch:"c_attn"`
	Proj *nn.Linear    `torch:"c_proj"`
	LN2  *nn.LayerNorm `torch:"ln_2"`
	Up   *nn.Linear    `torch:"c_fc"`
	Down *nn.Linear    `torch:"c_down"`

	heads int
}

// Forward implements [nn.Layer] for x [N, letters, width].
func (b *Block) Forward(x torch.Tensor) torch.Tensor {
	n, length, width := x.Size(0), x.Size(1), x.Size(2)
	qkv := b.QKV.Forward(b.LN1.Forward(x)).View(n, length, 3, b.heads, width/b.heads).Permute(2, 0, 3, 1, 4)
	y := F.ScaledDotProductAttention(qkv.Select(0, 0), qkv.Select(0, 1), qkv.Select(0, 2),
		F.ScaledDotProductAttentionOptions{IsCausal: true}) // no letter sees those after it
	x = x.Add(b.Proj.Forward(y.Transpose(1, 2).Reshape(n, length, width)))
	return x.Add(b.Down.Forward(F.GELU(b.Up.Forward(b.LN2.Forward(x)))))
}

// GPT predicts each next letter: scores [N, letters, alphabet] of letters [N, letters].
type GPT struct {
	Token  *nn.Embedding `torch:"wte"`
	Place  *nn.Embedding `torch:"wpe"`
	Blocks []*Block      `torch:"h"`
	Norm   *nn.LayerNorm `torch:"ln_f"`
	Head   *nn.Linear    `torch:"lm_head"`
}

func newGPT(alphabet, context, width, heads, layers int) *GPT {
	m := &GPT{Token: nn.NewEmbedding(alphabet, width), Place: nn.NewEmbedding(context, width)}
	for range layers {
		m.Blocks = append(m.Blocks, &Block{
			nn.NewLayerNorm(width), nn.NewLinear(width, 3*width), nn.NewLinear(width, width),
			nn.NewLayerNorm(width), nn.NewLinear(width, 4*width), nn.NewLinear(4*width, width), heads,
		})
	}
	m.Norm, m.Head = nn.NewLayerNorm(width), nn.NewLinear(width, alphabet, nn.LinearOptions{NoBias: true})
	return m
}

// Forward implements [nn.Layer].
func (m *GPT) Forward(letters torch.Tensor) torch.Tensor {
	places := torch.TensorOptions{Device: letters.Device()}.Arange(letters.Size(1))
	x := m.Token.Forward(letters).Add(m.Place.Forward(places))
	for _, b := range m.Blocks {
		x = b.Forward(x)
	}
	return m.Head.Forward(m.Norm.Forward(x))
}

// An alphabet is the letters (bytes) of a text, in their order.
type alphabet []byte

func newAlphabet(text []byte) alphabet {
	letters := slices.Sorted(slices.Values(text))
	return slices.Compact(letters)
}

// encode gives each letter its number.
func (a alphabet) encode(text []byte) []int {
	codes := make([]int, len(text))
	for i, letter := range text {
		codes[i] = bytes.IndexByte(a, letter)
	}
	return codes
}

// decode is the opposite of encode.
func (a alphabet) decode(codes []int) []byte {
	text := make([]byte, len(codes))
	for i, code := range codes {
		text[i] = a[code]
	}
	return text
}
