package models

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// EfficientNetOptions are the rarer arguments of the EfficientNets.
type EfficientNetOptions struct {
	Dropout             *float64                    // before the linear layer; default 0.2 to 0.5, more for the larger
	StochasticDepthProb *float64                    // towards the last block; default 0.2
	NormLayer           func(channels int) nn.Layer // default: batch norms, for B5 to B7 and version 2 with eps 1e-3
}

// EfficientNet is a network of inverted bottlenecks with squeeze and excitation, whose depth, width and
// resolution grow together (Tan and Le 2019); version 2 has plain convolutions in its first stages (Tan and Le
// 2021).
type EfficientNet struct {
	Features   nn.Sequential
	AvgPool    *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	Classifier nn.Sequential
}

// mbStage is a row of blocks, of which the first has the stride and changes the channels.
type mbStage struct {
	fused                            bool // a plain convolution in place of a narrow and a depthwise one
	expand                           float64
	kernel, stride, in, out, repeats int
}

// efficientNetV1 are the stages of B0 in other widths and depths.
func efficientNetV1(width, depth float64) []mbStage {
	stages := []mbStage{
		{expand: 1, kernel: 3, stride: 1, in: 32, out: 16, repeats: 1},
		{expand: 6, kernel: 3, stride: 2, in: 16, out: 24, repeats: 2},
		{expand: 6, kernel: 5, stride: 2, in: 24, out: 40, repeats: 2},
		{expand: 6, kernel: 3, stride: 2, in: 40, out: 80, repeats: 3},
		{expand: 6, kernel: 5, stride: 1, in: 80, out: 112, repeats: 3},
		{expand: 6, kernel: 5, stride: 2, in: 112, out: 192, repeats: 4},
		{expand: 6, kernel: 3, stride: 1, in: 192, out: 320, repeats: 1},
	}
	for i := range stages {
		s := &stages[i]
		s.in, s.out = divisible(float64(s.in)*width, 8), divisible(float64(s.out)*width, 8)
		s.repeats = int(math.Ceil(float64(s.repeats) * depth))
	}
	return stages
}

// The stages of version 2.
var (
	stagesV2S = []mbStage{
		{true, 1, 3, 1, 24, 24, 2}, {true, 4, 3, 2, 24, 48, 4}, {true, 4, 3, 2, 48, 64, 4},
		{false, 4, 3, 2, 64, 128, 6}, {false, 6, 3, 1, 128, 160, 9}, {false, 6, 3, 2, 160, 256, 15},
	}
	stagesV2M = []mbStage{
		{true, 1, 3, 1, 24, 24, 3}, {true, 4, 3, 2, 24, 48, 5}, {true, 4, 3, 2, 48, 80, 5},
		{false, 4, 3, 2, 80, 160, 7}, {false, 6, 3, 1, 160, 176, 14}, {false, 6, 3, 2, 176, 304, 18}, {false, 6, 3, 1, 304, 512, 5},
	}
	stagesV2L = []mbStage{
		{true, 1, 3, 1, 32, 32, 4}, {true, 4, 3, 2, 32, 64, 7}, {true, 4, 3, 2, 64, 96, 7},
		{false, 4, 3, 2, 96, 192, 10}, {false, 6, 3, 1, 192, 224, 19}, {false, 6, 3, 2, 224, 384, 25}, {false, 6, 3, 1, 384, 640, 7},
	}
)

// The batch norms of the EfficientNets, which take fewer defaults the larger they are.
var (
	plainNorm = nn.BatchNormOptions{}
	slowNorm  = nn.BatchNormOptions{Eps: new(1e-3), Momentum: new(0.01)}
	looseNorm = nn.BatchNormOptions{Eps: new(1e-3)}
)

// EfficientNetB0 is EfficientNet-B0, for images of 224x224: 5.3 million parameters with 1000 classes.
func EfficientNetB0(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(1, 1), 0, 0.2, plainNorm, classes, option.One(opts))
}

// EfficientNetB1 is EfficientNet-B1, for images of 240x240: 7.8 million parameters with 1000 classes.
func EfficientNetB1(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(1, 1.1), 0, 0.2, plainNorm, classes, option.One(opts))
}

// EfficientNetB2 is EfficientNet-B2, for images of 288x288: 9.1 million parameters with 1000 classes.
func EfficientNetB2(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(1.1, 1.2), 0, 0.3, plainNorm, classes, option.One(opts))
}

// EfficientNetB3 is EfficientNet-B3, for images of 300x300: 12.2 million parameters with 1000 classes.
func EfficientNetB3(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(1.2, 1.4), 0, 0.3, plainNorm, classes, option.One(opts))
}

// EfficientNetB4 is EfficientNet-B4, for images of 380x380: 19.3 million parameters with 1000 classes.
func EfficientNetB4(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(1.4, 1.8), 0, 0.4, plainNorm, classes, option.One(opts))
}

// EfficientNetB5 is EfficientNet-B5, for images of 456x456: 30.4 million parameters with 1000 classes.
func EfficientNetB5(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(1.6, 2.2), 0, 0.4, slowNorm, classes, option.One(opts))
}

// EfficientNetB6 is EfficientNet-B6, for images of 528x528: 43.0 million parameters with 1000 classes.
func EfficientNetB6(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(1.8, 2.6), 0, 0.5, slowNorm, classes, option.One(opts))
}

// EfficientNetB7 is EfficientNet-B7, for images of 600x600: 66.3 million parameters with 1000 classes.
func EfficientNetB7(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(efficientNetV1(2, 3.1), 0, 0.5, slowNorm, classes, option.One(opts))
}

// EfficientNetV2S is EfficientNetV2-S, for images of 384x384: 21.5 million parameters with 1000 classes.
func EfficientNetV2S(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(stagesV2S, 1280, 0.2, looseNorm, classes, option.One(opts))
}

// EfficientNetV2M is EfficientNetV2-M, for images of 480x480: 54.1 million parameters with 1000 classes.
func EfficientNetV2M(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(stagesV2M, 1280, 0.3, looseNorm, classes, option.One(opts))
}

// EfficientNetV2L is EfficientNetV2-L, for images of 480x480: 118.5 million parameters with 1000 classes.
func EfficientNetV2L(classes int, opts ...EfficientNetOptions) *EfficientNet {
	return newEfficientNet(stagesV2L, 1280, 0.4, looseNorm, classes, option.One(opts))
}

// newEfficientNet makes a network of these stages; last is the number of channels behind them, 0 for four times
// those of the last.
func newEfficientNet(stages []mbStage, last int, p float64, def nn.BatchNormOptions, classes int, o EfficientNetOptions) *EfficientNet {
	norm := normOr(o.NormLayer, def)
	around := func(in, out, kernel, stride int) nn.Layer {
		return ops.NewConv2dNormActivation(in, out, ops.Conv2dNormActivationOptions{KernelSize: kernel, Stride: stride,
			NormLayer: norm, Activation: nn.SiLU{InPlace: true}})
	}
	blocks, n := 0, 0
	for _, s := range stages {
		blocks += s.repeats
	}
	e := &EfficientNet{Features: nn.Sequential{around(3, stages[0].in, 3, 2)}}
	for _, s := range stages {
		var stage nn.Sequential
		for range s.repeats {
			drop := or(o.StochasticDepthProb, 0.2) * float64(n) / float64(blocks)
			stage = append(stage, newMBConv(s, drop, norm))
			s.in, s.stride = s.out, 1
			n++
		}
		e.Features = append(e.Features, stage)
	}
	in := stages[len(stages)-1].out
	if last == 0 {
		last = 4 * in
	}
	e.Features = append(e.Features, around(in, last, 1, 1))
	e.AvgPool = nn.NewAdaptiveAvgPool2d(1)
	e.Classifier = nn.Sequential{dropout(or(o.Dropout, p)), nn.NewLinear(last, classes)}
	draw(e, kaimingOut, func(l *nn.Linear) {
		bound := 1 / math.Sqrt(float64(l.Weight.Size(0)))
		nninit.Uniform(l.Weight, -bound, bound)
		nninit.Zeros(l.Bias)
	})
	return e
}

// Forward maps images [N, 3, H, W], for version 2 of 33x33 at least, to scores [N, classes].
func (e *EfficientNet) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(e, x, e.forward) }

func (e *EfficientNet) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, e.Features, e.AvgPool, nn.Flatten{}, e.Classifier)
}

// String describes the model, see [nn.String].
func (e *EfficientNet) String() string { return nn.String(e) }

// mbConv is an inverted bottleneck, narrow outside and wide inside, and a way around it where the sizes fit.
type mbConv struct {
	Block           nn.Sequential
	StochasticDepth *ops.StochasticDepth

	residual, fused bool
}

func newMBConv(s mbStage, drop float64, norm norms) *mbConv {
	b := &mbConv{StochasticDepth: ops.NewStochasticDepth(drop, ops.DropRow), residual: s.stride == 1 && s.in == s.out, fused: s.fused}
	wide, swish := divisible(float64(s.in)*s.expand, 8), nn.SiLU{InPlace: true}
	add := func(in, out int, o ops.Conv2dNormActivationOptions) {
		o.NormLayer, o.Activation = norm, swish
		b.Block = append(b.Block, ops.NewConv2dNormActivation(in, out, o))
	}
	narrow := ops.Conv2dNormActivationOptions{KernelSize: 1, NoActivation: true}
	switch {
	case s.fused && wide == s.in:
		add(s.in, s.out, ops.Conv2dNormActivationOptions{KernelSize: s.kernel, Stride: s.stride})
	case s.fused:
		add(s.in, wide, ops.Conv2dNormActivationOptions{KernelSize: s.kernel, Stride: s.stride})
		add(wide, s.out, narrow)
	default:
		if wide != s.in {
			add(s.in, wide, ops.Conv2dNormActivationOptions{KernelSize: 1})
		}
		add(wide, wide, ops.Conv2dNormActivationOptions{KernelSize: s.kernel, Stride: s.stride, Groups: wide})
		b.Block = append(b.Block, ops.NewSqueezeExcitation(wide, max(1, s.in/4), ops.SqueezeExcitationOptions{Activation: swish}))
		add(wide, s.out, narrow)
	}
	return b
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (b *mbConv) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *mbConv) forward(x torch.Tensor) torch.Tensor {
	if !b.residual {
		return b.Block.Forward(x)
	}
	return nn.Chain(x, b.Block, b.StochasticDepth).AddInPlace(x)
}

// ReprName is torchvision's name.
func (b *mbConv) ReprName() string {
	if b.fused {
		return "FusedMBConv"
	}
	return "MBConv"
}
