package models

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// ViTOptions are the rarer arguments of the vision transformers.
type ViTOptions struct {
	ImageSize          int     // height and width of the images, a multiple of the patches'; default 224
	Dropout            float64 // of the embeddings, behind attention and in the perceptrons; default 0
	AttentionDropout   float64 // of the attention weights; default 0
	RepresentationSize int     // features of a hidden layer before the last; default 0, none
}

// VisionTransformer attends between the patches of an image as transformers do between words (Dosovitskiy et al.
// 2020).
type VisionTransformer struct {
	ClassToken torch.Tensor // [1, 1, D]
	ConvProj   *nn.Conv2d
	Encoder    *vitEncoder
	Heads      nn.NamedSequential

	ImageSize int
}

// vit are the sizes of a network.
type vit struct{ patch, layers, heads, width, hidden int }

// ViTB16 is ViT-B/16: 86.6 million parameters with 1000 classes.
func ViTB16(classes int, opts ...ViTOptions) *VisionTransformer {
	return newViT(vit{16, 12, 12, 768, 3072}, classes, option.One(opts))
}

// ViTB32 is ViT-B/32: 88.2 million parameters with 1000 classes.
func ViTB32(classes int, opts ...ViTOptions) *VisionTransformer {
	return newViT(vit{32, 12, 12, 768, 3072}, classes, option.One(opts))
}

// ViTL16 is ViT-L/16: 304.3 million parameters with 1000 classes.
func ViTL16(classes int, opts ...ViTOptions) *VisionTransformer {
	return newViT(vit{16, 24, 16, 1024, 4096}, classes, option.One(opts))
}

// ViTL32 is ViT-L/32: 306.5 million parameters with 1000 classes.
func ViTL32(classes int, opts ...ViTOptions) *VisionTransformer {
	return newViT(vit{32, 24, 16, 1024, 4096}, classes, option.One(opts))
}

// ViTH14 is ViT-H/14: 632.0 million parameters with 1000 classes.
func ViTH14(classes int, opts ...ViTOptions) *VisionTransformer {
	return newViT(vit{14, 32, 16, 1280, 5120}, classes, option.One(opts))
}

func newViT(s vit, classes int, o ViTOptions) *VisionTransformer {
	size := o.ImageSize
	if size == 0 {
		size = 224
	}
	if size%s.patch != 0 {
		torch.Throw("vision_transformer", torch.KindValue, "images of %[1]dx%[1]d cannot be cut into patches of %[2]dx%[2]d", size, s.patch)
	}
	patches := size / s.patch
	v := &VisionTransformer{
		ConvProj:   nn.NewConv2d(3, s.width, s.patch, nn.ConvOptions{Stride: s.patch}),
		ClassToken: nn.NewParameter(torch.Zeros(1, 1, s.width)),
		Encoder:    newViTEncoder(patches*patches+1, s, o),
		ImageSize:  size,
	}
	features := s.width
	if hidden := o.RepresentationSize; hidden != 0 {
		first := nn.NewLinear(features, hidden)
		v.Heads = nn.NamedSequential{{Name: "pre_logits", Module: first}, {Name: "act", Module: nn.Tanh{}}}
		defer truncatedLinear(math.Sqrt(1 / float64(features)))(first) // drawn last
		features = hidden
	}
	head := nn.NewLinear(features, classes)
	v.Heads = append(v.Heads, nn.Named[nn.Layer]{Name: "head", Module: head})
	nninit.TruncNormal(v.ConvProj.Weight, 0, math.Sqrt(1/float64(3*s.patch*s.patch)), -2, 2)
	nninit.Zeros(v.ConvProj.Bias)
	nninit.Zeros(head.Weight)
	nninit.Zeros(head.Bias)
	return v
}

// Forward maps images [N, 3, ImageSize, ImageSize] to scores [N, classes].
func (v *VisionTransformer) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(v, x, v.forward) }

func (v *VisionTransformer) forward(x torch.Tensor) torch.Tensor {
	if h, w := x.Size(-2), x.Size(-1); h != v.ImageSize || w != v.ImageSize {
		torch.Throw("vision_transformer", torch.KindValue, "expected images of %[1]dx%[1]d, got %[2]dx%[3]d: ViTOptions.ImageSize is for others",
			v.ImageSize, h, w)
	}
	return torch.Scope1(func() torch.Tensor {
		x := v.ConvProj.Forward(x)
		n, width := x.Size(0), x.Size(1)
		x = x.Reshape(n, width, x.Size(2)*x.Size(3)).Permute(0, 2, 1)
		x = torch.Cat([]torch.Tensor{v.ClassToken.Expand(n, -1, -1), x}, 1)
		return v.Heads.Forward(v.Encoder.Forward(x).Select(1, 0))
	})
}

// String describes the model, see [nn.String].
func (v *VisionTransformer) String() string { return nn.String(v) }

// vitEncoder tells patches where they are, and has the layers.
type vitEncoder struct {
	PosEmbedding torch.Tensor // [1, L, D]
	Dropout      *nn.Dropout
	Layers       nn.NamedSequential
	LN           *nn.LayerNorm
}

// vitNorm is the layer norm of the vision transformers.
func vitNorm(width int) *nn.LayerNorm {
	return nn.NewLayerNorm(width, nn.LayerNormOptions{Eps: new(1e-6)})
}

func newViTEncoder(length int, s vit, o ViTOptions) *vitEncoder {
	e := &vitEncoder{PosEmbedding: nn.NewParameter(torch.Empty(1, length, s.width)), Dropout: nn.NewDropout(o.Dropout)}
	nninit.Normal(e.PosEmbedding, 0, 0.02)
	for i := range s.layers {
		e.Layers = append(e.Layers, nn.Named[nn.Layer]{Name: fmt.Sprint("encoder_layer_", i), Module: newViTBlock(s, o)})
	}
	e.LN = vitNorm(s.width)
	return e
}

// Forward keeps the shape [N, L, D].
func (e *vitEncoder) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(e, x, e.forward) }

func (e *vitEncoder) forward(x torch.Tensor) torch.Tensor {
	x = x.Add(e.PosEmbedding)
	defer x.Close()
	return nn.Chain(x, e.Dropout, e.Layers, e.LN)
}

// ReprName is torchvision's name.
func (e *vitEncoder) ReprName() string { return "Encoder" }

// vitBlock is attention and a perceptron, with a way around each.
type vitBlock struct {
	LN1           *nn.LayerNorm `torch:"ln_1"`
	SelfAttention *nn.MultiheadAttention
	Dropout       *nn.Dropout
	LN2           *nn.LayerNorm `torch:"ln_2"`
	MLP           vitMLP
}

// vitMLP is a perceptron whose layers had other names at first.
type vitMLP ops.MLP

// Forward takes and returns [..., D].
func (m vitMLP) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(m, x, func(x torch.Tensor) torch.Tensor { return nn.Chain(x, m...) })
}

// StateVersion implements [nn.Versioned].
func (vitMLP) StateVersion() int { return 2 }

// ReprName is torchvision's name.
func (vitMLP) ReprName() string { return "MLPBlock" }

func newViTBlock(s vit, o ViTOptions) *vitBlock {
	b := &vitBlock{
		LN1:           vitNorm(s.width),
		SelfAttention: nn.NewMultiheadAttention(s.width, s.heads, nn.MultiheadAttentionOptions{Dropout: o.AttentionDropout, BatchFirst: true}),
		Dropout:       nn.NewDropout(o.Dropout),
		LN2:           vitNorm(s.width),
		MLP:           vitMLP(ops.NewMLP(s.width, []int{s.hidden, s.width}, ops.MLPOptions{Activation: nn.GELU{}, Dropout: o.Dropout})),
	}
	smallMLP(b.MLP)
	return b
}

// Forward keeps the shape [N, L, D].
func (b *vitBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *vitBlock) forward(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		y := b.LN1.Forward(x)
		y, _ = b.SelfAttention.Forward(y, y, y, nn.AttentionOptions{NoWeights: true})
		x := b.Dropout.Forward(y).Add(x)
		return x.Add(nn.Chain(x, b.LN2, b.MLP))
	})
}

// ReprName is torchvision's name.
func (b *vitBlock) ReprName() string { return "EncoderBlock" }
