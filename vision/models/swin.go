package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// SwinOptions are the rarer arguments of the Swin transformers.
type SwinOptions struct {
	MLPRatio            float64  // features inside the perceptrons over those outside; default 4
	Dropout             float64  // behind attention and in the perceptrons; default 0
	AttentionDropout    float64  // of the attention weights; default 0
	StochasticDepthProb *float64 // of the last block; default 0.2 for T, 0.3 for S, 0.5 for B
}

// SwinTransformer attends within windows that shift from layer to layer (Liu et al. 2021); version 2 normalises
// behind its layers, and attends by cosines (Liu et al. 2021b).
type SwinTransformer struct {
	Features nn.Sequential
	Norm     *nn.LayerNorm
	Permute  ops.Permute
	AvgPool  *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	Flatten  nn.Flatten
	Head     *nn.Linear
}

// swin are the sizes of a network.
type swin struct {
	width  int
	depth  [4]int
	heads  int // of the first stage; twice as many in each that follows
	window int
	drop   float64
	v2     bool
}

// SwinT is Swin-T: 28.3 million parameters with 1000 classes.
func SwinT(classes int, opts ...SwinOptions) *SwinTransformer {
	return newSwin(swin{96, [4]int{2, 2, 6, 2}, 3, 7, 0.2, false}, classes, option.One(opts))
}

// SwinS is Swin-S: 49.6 million parameters with 1000 classes.
func SwinS(classes int, opts ...SwinOptions) *SwinTransformer {
	return newSwin(swin{96, [4]int{2, 2, 18, 2}, 3, 7, 0.3, false}, classes, option.One(opts))
}

// SwinB is Swin-B: 87.8 million parameters with 1000 classes.
func SwinB(classes int, opts ...SwinOptions) *SwinTransformer {
	return newSwin(swin{128, [4]int{2, 2, 18, 2}, 4, 7, 0.5, false}, classes, option.One(opts))
}

// SwinV2T is Swin Transformer V2-T, for images of 256x256: 28.4 million parameters with 1000 classes.
func SwinV2T(classes int, opts ...SwinOptions) *SwinTransformer {
	return newSwin(swin{96, [4]int{2, 2, 6, 2}, 3, 8, 0.2, true}, classes, option.One(opts))
}

// SwinV2S is Swin Transformer V2-S, for images of 256x256: 49.7 million parameters with 1000 classes.
func SwinV2S(classes int, opts ...SwinOptions) *SwinTransformer {
	return newSwin(swin{96, [4]int{2, 2, 18, 2}, 3, 8, 0.3, true}, classes, option.One(opts))
}

// SwinV2B is Swin Transformer V2-B, for images of 256x256: 87.9 million parameters with 1000 classes.
func SwinV2B(classes int, opts ...SwinOptions) *SwinTransformer {
	return newSwin(swin{128, [4]int{2, 2, 18, 2}, 4, 8, 0.5, true}, classes, option.One(opts))
}

func newSwin(s swin, classes int, o SwinOptions) *SwinTransformer {
	if o.MLPRatio == 0 {
		o.MLPRatio = 4
	}
	width, heads, n, blocks := s.width, s.heads, 0, s.depth[0]+s.depth[1]+s.depth[2]+s.depth[3]
	net := &SwinTransformer{Permute: ops.Permute{Dims: []int{0, 3, 1, 2}}}
	net.Features = nn.Sequential{nn.Sequential{
		nn.NewConv2d(3, width, 4, nn.ConvOptions{Stride: 4}), ops.Permute{Dims: []int{0, 2, 3, 1}}, nn.NewLayerNorm(width)}}
	for i, layers := range s.depth {
		var stage nn.Sequential
		for layer := range layers {
			drop := or(o.StochasticDepthProb, s.drop) * float64(n) / float64(blocks-1)
			shift := layer % 2 * (s.window / 2)
			stage = append(stage, newSwinBlock(width, heads, s.window, shift, drop, s.v2, o))
			n++
		}
		net.Features = append(net.Features, stage)
		if i < len(s.depth)-1 {
			net.Features = append(net.Features, newPatchMerging(width, s.v2))
			width, heads = 2*width, 2*heads
		}
	}
	net.Norm = nn.NewLayerNorm(width)
	net.AvgPool = nn.NewAdaptiveAvgPool2d(1)
	net.Head = nn.NewLinear(width, classes)
	draw(net, nil, truncatedLinear(0.02))
	return net
}

// Forward maps images [N, 3, H, W] to scores [N, classes].
func (s *SwinTransformer) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(s, x, s.forward) }

func (s *SwinTransformer) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, s.Features, s.Norm, s.Permute, s.AvgPool, s.Flatten, s.Head)
}

// String describes the model, see [nn.String].
func (s *SwinTransformer) String() string { return nn.String(s) }

// swinBlock is attention and a perceptron, with a way around each.
type swinBlock struct {
	Norm1           *nn.LayerNorm
	Attn            *windowAttention
	StochasticDepth *ops.StochasticDepth
	Norm2           *nn.LayerNorm
	MLP             ops.MLP

	v2 bool // the norms are behind
}

func newSwinBlock(width, heads, window, shift int, drop float64, v2 bool, o SwinOptions) *swinBlock {
	b := &swinBlock{
		Norm1: nn.NewLayerNorm(width), Attn: newWindowAttention(width, heads, window, shift, v2, o),
		StochasticDepth: ops.NewStochasticDepth(drop, ops.DropRow), Norm2: nn.NewLayerNorm(width), v2: v2,
		MLP: ops.NewMLP(width, []int{int(float64(width) * o.MLPRatio), width}, ops.MLPOptions{Activation: nn.GELU{}, Dropout: o.Dropout}),
	}
	smallMLP(b.MLP)
	return b
}

// Forward keeps the shape [N, H, W, C].
func (b *swinBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *swinBlock) forward(x torch.Tensor) torch.Tensor {
	if b.v2 {
		x = around(x, b.Attn, b.Norm1, b.StochasticDepth)
		defer x.Close()
		return around(x, b.MLP, b.Norm2, b.StochasticDepth)
	}
	x = around(x, b.Norm1, b.Attn, b.StochasticDepth)
	defer x.Close()
	return around(x, b.Norm2, b.MLP, b.StochasticDepth)
}

// around adds what the layers make of x to x.
func around(x torch.Tensor, layers ...nn.Layer) torch.Tensor {
	y := nn.Chain(x, layers...)
	defer y.Close()
	return x.Add(y)
}

// ReprName is torchvision's name.
func (b *swinBlock) ReprName() string {
	if b.v2 {
		return "SwinTransformerBlockV2"
	}
	return "SwinTransformerBlock"
}

// patchMerging makes one patch of four, with twice the features.
type patchMerging struct {
	Reduction *nn.Linear
	Norm      *nn.LayerNorm

	v2 bool // the norm is behind
}

func newPatchMerging(width int, v2 bool) *patchMerging {
	p := &patchMerging{Reduction: nn.NewLinear(4*width, 2*width, nn.LinearOptions{NoBias: true}), v2: v2}
	if v2 {
		p.Norm = nn.NewLayerNorm(2 * width)
	} else {
		p.Norm = nn.NewLayerNorm(4 * width)
	}
	return p
}

// Forward maps [N, H, W, C] to [N, H/2, W/2, 2*C].
func (p *patchMerging) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(p, x, p.forward) }

func (p *patchMerging) forward(x torch.Tensor) torch.Tensor {
	x = merged(x)
	defer x.Close()
	if p.v2 {
		return nn.Chain(x, p.Reduction, p.Norm)
	}
	return nn.Chain(x, p.Norm, p.Reduction)
}

// merged puts the features of four neighbours beside each other, odd sides padded.
func merged(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		x := F.Pad(x, []int{0, 0, 0, x.Size(-2) % 2, 0, x.Size(-3) % 2})
		every := func(row, col int) torch.Tensor {
			return x.Index(torch.Ellipsis, torch.Slice(row, torch.End, 2), torch.Slice(col, torch.End, 2), torch.All)
		}
		return torch.Cat([]torch.Tensor{every(0, 0), every(1, 0), every(0, 1), every(1, 1)}, -1)
	})
}

// ReprName is torchvision's name.
func (p *patchMerging) ReprName() string {
	if p.v2 {
		return "PatchMergingV2"
	}
	return "PatchMerging"
}
