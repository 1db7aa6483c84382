package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// VGGOptions are the rarer arguments of the VGG networks.
type VGGOptions struct {
	Dropout       *float64 // probability behind the two hidden linear layers; default 0.5
	NoInitWeights bool     // with the initial values of nn, which are drawn faster
}

// VGG is a plain stack of 3x3 convolutions (Simonyan and Zisserman 2014). Most of its weights,
// 124 million with 1000 classes, are in the three linear layers at its end.
type VGG struct {
	Features   nn.Sequential
	AvgPool    *nn.AdaptiveAvgPool2d
	Classifier nn.Sequential
}

// stages are how many convolutions a VGG has before each of its five poolings.
type stages [5]int

var (
	stages11 = stages{1, 1, 2, 2, 2}
	stages13 = stages{2, 2, 2, 2, 2}
	stages16 = stages{2, 2, 3, 3, 3}
	stages19 = stages{2, 2, 4, 4, 4}
)

// VGG11 is VGG-11: 132.9 million parameters with 1000 classes.
func VGG11(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages11, false, classes, option.One(opts))
}

// VGG11BN is [VGG11] with a batch norm behind every convolution.
func VGG11BN(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages11, true, classes, option.One(opts))
}

// VGG13 is VGG-13: 133.0 million parameters with 1000 classes.
func VGG13(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages13, false, classes, option.One(opts))
}

// VGG13BN is [VGG13] with a batch norm behind every convolution.
func VGG13BN(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages13, true, classes, option.One(opts))
}

// VGG16 is VGG-16: 138.4 million parameters with 1000 classes.
func VGG16(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages16, false, classes, option.One(opts))
}

// VGG16BN is [VGG16] with a batch norm behind every convolution.
func VGG16BN(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages16, true, classes, option.One(opts))
}

// VGG19 is VGG-19: 143.7 million parameters with 1000 classes.
func VGG19(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages19, false, classes, option.One(opts))
}

// VGG19BN is [VGG19] with a batch norm behind every convolution.
func VGG19BN(classes int, opts ...VGGOptions) *VGG {
	return newVGG(stages19, true, classes, option.One(opts))
}

func newVGG(depth stages, norm bool, classes int, o VGGOptions) *VGG {
	const side, hidden = 7, 4096
	v, channels, p := &VGG{AvgPool: nn.NewAdaptiveAvgPool2d(side)}, 3, or(o.Dropout, 0.5)
	relu := nn.ReLU{InPlace: true}
	for stage, convolutions := range depth {
		for range convolutions {
			width := min(64<<stage, 512)
			v.Features = append(v.Features, nn.NewConv2d(channels, width, 3, nn.ConvOptions{Padding: 1}))
			if norm {
				v.Features = append(v.Features, nn.NewBatchNorm2d(width))
			}
			v.Features = append(v.Features, relu)
			channels = width
		}
		v.Features = append(v.Features, nn.NewMaxPool2d(2))
	}
	v.Classifier = nn.Sequential{
		nn.NewLinear(channels*side*side, hidden), relu, nn.NewDropout(p),
		nn.NewLinear(hidden, hidden), relu, nn.NewDropout(p),
		nn.NewLinear(hidden, classes),
	}
	if !o.NoInitWeights {
		draw(v, kaimingOut, normalLinear(0.01))
	}
	return v
}

// Forward maps images [N, 3, H, W], of 32x32 at least, to scores [N, classes].
func (v *VGG) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(v, x, v.forward) }

func (v *VGG) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, v.Features, v.AvgPool, nn.Flatten{}, v.Classifier)
}

// String describes the model, see [nn.String].
func (v *VGG) String() string { return nn.String(v) }
