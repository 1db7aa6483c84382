package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// ConvNeXtOptions are the rarer arguments of the ConvNeXts.
type ConvNeXtOptions struct {
	StochasticDepthProb *float64                    // of the last block; default 0.1 for Tiny, 0.4 for Small, 0.5 for Base and Large
	LayerScale          *float64                    // of every block at first; default 1e-6
	NormLayer           func(channels int) nn.Layer // between the stages; default: a layer norm over channels, eps 1e-6
}

// ConvNeXt is a convolutional network with the proportions of a vision transformer (Liu et al. 2022).
type ConvNeXt struct {
	Features   nn.Sequential
	AvgPool    *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	Classifier nn.Sequential
}

// ConvNeXtTiny is ConvNeXt-T: 28.6 million parameters with 1000 classes.
func ConvNeXtTiny(classes int, opts ...ConvNeXtOptions) *ConvNeXt {
	return newConvNeXt(96, [4]int{3, 3, 9, 3}, 0.1, classes, option.One(opts))
}

// ConvNeXtSmall is ConvNeXt-S: 50.2 million parameters with 1000 classes.
func ConvNeXtSmall(classes int, opts ...ConvNeXtOptions) *ConvNeXt {
	return newConvNeXt(96, [4]int{3, 3, 27, 3}, 0.4, classes, option.One(opts))
}

// ConvNeXtBase is ConvNeXt-B: 88.6 million parameters with 1000 classes.
func ConvNeXtBase(classes int, opts ...ConvNeXtOptions) *ConvNeXt {
	return newConvNeXt(128, [4]int{3, 3, 27, 3}, 0.5, classes, option.One(opts))
}

// ConvNeXtLarge is ConvNeXt-L: 197.8 million parameters with 1000 classes.
func ConvNeXtLarge(classes int, opts ...ConvNeXtOptions) *ConvNeXt {
	return newConvNeXt(192, [4]int{3, 3, 27, 3}, 0.5, classes, option.One(opts))
}

// newConvNeXt makes a network whose width doubles from stage to stage.
func newConvNeXt(width int, depth [4]int, drop float64, classes int, o ConvNeXtOptions) *ConvNeXt {
	norm := o.NormLayer
	if norm == nil {
		norm = newLayerNorm2d
	}
	drop, blocks, n := or(o.StochasticDepthProb, drop), depth[0]+depth[1]+depth[2]+depth[3], 0
	c := &ConvNeXt{Features: nn.Sequential{ops.NewConv2dNormActivation(3, width, ops.Conv2dNormActivationOptions{
		KernelSize: 4, Stride: 4, Padding: new(0), Bias: new(true), NormLayer: norm, NoActivation: true})}}
	for i, layers := range depth {
		var stage nn.Sequential
		for range layers {
			stage = append(stage, newConvNeXtBlock(width, or(o.LayerScale, 1e-6), drop*float64(n)/(float64(blocks)-1)))
			n++
		}
		c.Features = append(c.Features, stage)
		if i < len(depth)-1 {
			c.Features = append(c.Features, nn.Sequential{norm(width), nn.NewConv2d(width, 2*width, 2, nn.ConvOptions{Stride: 2})})
			width *= 2
		}
	}
	c.AvgPool = nn.NewAdaptiveAvgPool2d(1)
	c.Classifier = nn.Sequential{norm(width), nn.Flatten{}, nn.NewLinear(width, classes)}
	draw(c, func(c *nn.Conv2d) {
		nninit.TruncNormal(c.Weight, 0, 0.02, -2, 2)
		nninit.Zeros(c.Bias)
	}, truncatedLinear(0.02))
	return c
}

// Forward maps images [N, 3, H, W], of 32x32 at least, to scores [N, classes].
func (c *ConvNeXt) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(c, x, c.forward) }

func (c *ConvNeXt) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, c.Features, c.AvgPool, c.Classifier)
}

// String describes the model, see [nn.String].
func (c *ConvNeXt) String() string { return nn.String(c) }

// layerNorm2d normalises the channels of each pixel.
type layerNorm2d struct{ nn.LayerNorm }

func newLayerNorm2d(channels int) nn.Layer {
	return &layerNorm2d{*nn.NewLayerNorm(channels, nn.LayerNormOptions{Eps: new(1e-6)})}
}

// Forward keeps the shape [N, C, H, W].
func (l *layerNorm2d) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(l, x, l.forward) }

func (l *layerNorm2d) forward(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		y := F.LayerNorm(x.Permute(0, 2, 3, 1), l.Shape, F.LayerNormOptions{Weight: l.Weight, Bias: l.Bias, Eps: &l.Eps})
		return y.Permute(0, 3, 1, 2)
	})
}

// ReprName is torchvision's name.
func (l *layerNorm2d) ReprName() string { return "LayerNorm2d" }

// convNeXtBlock is a wide depthwise convolution and a perceptron for each pixel, and a way around them.
type convNeXtBlock struct {
	LayerScale      torch.Tensor // [C, 1, 1]
	Block           nn.Sequential
	StochasticDepth *ops.StochasticDepth
}

func newConvNeXtBlock(channels int, scale, drop float64) *convNeXtBlock {
	b := &convNeXtBlock{
		Block: nn.Sequential{
			nn.NewConv2d(channels, channels, 7, nn.ConvOptions{Padding: 3, Groups: channels}),
			ops.Permute{Dims: []int{0, 2, 3, 1}},
			nn.NewLayerNorm(channels, nn.LayerNormOptions{Eps: new(1e-6)}),
			nn.NewLinear(channels, 4*channels), nn.GELU{}, nn.NewLinear(4*channels, channels),
			ops.Permute{Dims: []int{0, 3, 1, 2}},
		},
		StochasticDepth: ops.NewStochasticDepth(drop, ops.DropRow),
	}
	b.LayerScale = nn.NewParameter(torch.Full([]int{channels, 1, 1}, scale))
	return b
}

// Forward keeps the shape [N, C, H, W].
func (b *convNeXtBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *convNeXtBlock) forward(x torch.Tensor) torch.Tensor {
	y := b.Block.Forward(x)
	scaled := b.LayerScale.Mul(y)
	y.Close()
	kept := b.StochasticDepth.Forward(scaled)
	if !kept.Is(scaled) {
		scaled.Close()
	}
	return kept.AddInPlace(x)
}

// ReprName is torchvision's name.
func (b *convNeXtBlock) ReprName() string { return "CNBlock" }
