package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// MobileNetV3Options are the rarer arguments of the MobileNetV3s.
type MobileNetV3Options struct {
	WidthMult   float64                     // of all numbers of channels; default 1
	ReducedTail bool                        // half the channels in the last blocks
	Dilated     bool                        // the last blocks look further in place of a stride
	NormLayer   func(channels int) nn.Layer // default: batch norms with eps 1e-3 and momentum 0.01
	Dropout     *float64                    // probability between the linear layers; default 0.2
}

// MobileNetV3 is a network for small devices that was found by a search (Howard et al. 2019).
type MobileNetV3 struct {
	Features   nn.Sequential
	AvgPool    *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	Classifier nn.Sequential
}

// bneck is a row of the tables in the paper.
type bneck struct {
	in, kernel, expanded, out int
	squeeze, hard             bool // squeeze and excitation; Hardswish in place of ReLU
	stride, dilation          int
}

// MobileNetV3Large is MobileNetV3-Large: 5.5 million parameters with 1000 classes.
func MobileNetV3Large(classes int, opts ...MobileNetV3Options) *MobileNetV3 {
	o := option.One(opts)
	tail, dilation := o.tail()
	return newMobileNetV3([]bneck{
		{16, 3, 16, 16, false, false, 1, 1},
		{16, 3, 64, 24, false, false, 2, 1}, {24, 3, 72, 24, false, false, 1, 1},
		{24, 5, 72, 40, true, false, 2, 1}, {40, 5, 120, 40, true, false, 1, 1}, {40, 5, 120, 40, true, false, 1, 1},
		{40, 3, 240, 80, false, true, 2, 1}, {80, 3, 200, 80, false, true, 1, 1}, {80, 3, 184, 80, false, true, 1, 1},
		{80, 3, 184, 80, false, true, 1, 1},
		{80, 3, 480, 112, true, true, 1, 1}, {112, 3, 672, 112, true, true, 1, 1},
		{112, 5, 672, 160 / tail, true, true, 2, dilation}, {160 / tail, 5, 960 / tail, 160 / tail, true, true, 1, dilation},
		{160 / tail, 5, 960 / tail, 160 / tail, true, true, 1, dilation},
	}, 1280/tail, classes, o)
}

// MobileNetV3Small is MobileNetV3-Small: 2.5 million parameters with 1000 classes.
func MobileNetV3Small(classes int, opts ...MobileNetV3Options) *MobileNetV3 {
	o := option.One(opts)
	tail, dilation := o.tail()
	return newMobileNetV3([]bneck{
		{16, 3, 16, 16, true, false, 2, 1},
		{16, 3, 72, 24, false, false, 2, 1}, {24, 3, 88, 24, false, false, 1, 1},
		{24, 5, 96, 40, true, true, 2, 1}, {40, 5, 240, 40, true, true, 1, 1}, {40, 5, 240, 40, true, true, 1, 1},
		{40, 5, 120, 48, true, true, 1, 1}, {48, 5, 144, 48, true, true, 1, 1},
		{48, 5, 288, 96 / tail, true, true, 2, dilation}, {96 / tail, 5, 576 / tail, 96 / tail, true, true, 1, dilation},
		{96 / tail, 5, 576 / tail, 96 / tail, true, true, 1, dilation},
	}, 1024/tail, classes, o)
}

// tail is what divides the channels of the last blocks, and their dilation.
func (o MobileNetV3Options) tail() (divisor, dilation int) {
	divisor, dilation = 1, 1
	if o.ReducedTail {
		divisor = 2
	}
	if o.Dilated {
		dilation = 2
	}
	return divisor, dilation
}

func newMobileNetV3(rows []bneck, hidden, classes int, o MobileNetV3Options) *MobileNetV3 {
	width := o.WidthMult
	if width == 0 {
		width = 1
	}
	wide := func(channels int) int { return divisible(float64(channels)*width, 8) }
	norm := normOr(o.NormLayer, nn.BatchNormOptions{Eps: new(1e-3), Momentum: new(0.01)})
	swish := nn.Hardswish{InPlace: true}
	m := &MobileNetV3{Features: nn.Sequential{ops.NewConv2dNormActivation(3, wide(rows[0].in),
		ops.Conv2dNormActivationOptions{Stride: 2, NormLayer: norm, Activation: swish})}}
	for _, r := range rows {
		r.in, r.expanded, r.out = wide(r.in), wide(r.expanded), wide(r.out)
		m.Features = append(m.Features, newBneck(r, norm))
	}
	in := wide(rows[len(rows)-1].out)
	m.Features = append(m.Features, ops.NewConv2dNormActivation(in, 6*in,
		ops.Conv2dNormActivationOptions{KernelSize: 1, NormLayer: norm, Activation: swish}))
	m.AvgPool = nn.NewAdaptiveAvgPool2d(1)
	m.Classifier = nn.Sequential{nn.NewLinear(6*in, wide(hidden)), swish, dropout(or(o.Dropout, 0.2)), nn.NewLinear(wide(hidden), classes)}
	draw(m, kaimingOut, normalLinear(0.01))
	return m
}

// Forward maps images [N, 3, H, W] to scores [N, classes].
func (m *MobileNetV3) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *MobileNetV3) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, m.Features, m.AvgPool, nn.Flatten{}, m.Classifier)
}

// String describes the model, see [nn.String].
func (m *MobileNetV3) String() string { return nn.String(m) }

// bneckBlock is a bottleneck that is wide inside, and a way around it where the sizes fit.
type bneckBlock struct {
	Block nn.Sequential

	residual bool
}

func newBneck(r bneck, norm norms) *bneckBlock {
	b := &bneckBlock{residual: r.stride == 1 && r.in == r.out}
	var activation nn.Layer = nn.ReLU{InPlace: true}
	if r.hard {
		activation = nn.Hardswish{InPlace: true}
	}
	add := func(in, out int, o ops.Conv2dNormActivationOptions) {
		o.NormLayer, o.Activation = norm, activation
		b.Block = append(b.Block, ops.NewConv2dNormActivation(in, out, o))
	}
	if r.expanded != r.in {
		add(r.in, r.expanded, ops.Conv2dNormActivationOptions{KernelSize: 1})
	}
	stride := r.stride
	if r.dilation > 1 {
		stride = 1
	}
	add(r.expanded, r.expanded,
		ops.Conv2dNormActivationOptions{KernelSize: r.kernel, Stride: stride, Dilation: r.dilation, Groups: r.expanded})
	if r.squeeze {
		b.Block = append(b.Block, ops.NewSqueezeExcitation(r.expanded, divisible(float64(r.expanded/4), 8),
			ops.SqueezeExcitationOptions{ScaleActivation: nn.Hardsigmoid{}}))
	}
	add(r.expanded, r.out, ops.Conv2dNormActivationOptions{KernelSize: 1, NoActivation: true})
	return b
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (b *bneckBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *bneckBlock) forward(x torch.Tensor) torch.Tensor {
	y := b.Block.Forward(x)
	if b.residual {
		y.AddInPlace(x)
	}
	return y
}

// ReprName is torchvision's name.
func (b *bneckBlock) ReprName() string { return "InvertedResidual" }
