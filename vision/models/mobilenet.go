package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// MobileNetV2Options are the rarer arguments of [NewMobileNetV2].
type MobileNetV2Options struct {
	WidthMult    float64                     // of all numbers of channels; default 1
	RoundNearest int                         // what numbers of channels are multiples of; default 8
	NormLayer    func(channels int) nn.Layer // default: batch norms
	Dropout      *float64                    // probability before the linear layer; default 0.2
}

// MobileNetV2 is a network of inverted bottlenecks for small devices (Sandler et al. 2018).
type MobileNetV2 struct {
	Features   nn.Sequential
	Classifier nn.Sequential
}

// NewMobileNetV2 is MobileNetV2: 3.5 million parameters with 1000 classes.
func NewMobileNetV2(classes int, opts ...MobileNetV2Options) *MobileNetV2 {
	o := option.One(opts)
	width, norm := 1.0, normOr(o.NormLayer, nn.BatchNormOptions{})
	if o.WidthMult != 0 {
		width = o.WidthMult
	}
	round := 8
	if o.RoundNearest != 0 {
		round = o.RoundNearest
	}
	wide := func(channels float64) int { return divisible(channels*width, round) }
	in, last := wide(32), divisible(1280*max(1, width), round)
	m := &MobileNetV2{Features: nn.Sequential{newReLU6(3, in, 3, 2, 1, norm)}}
	for _, s := range []struct {
		expand           int
		out              float64
		repeats, strides int
	}{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		for i := range s.repeats {
			stride, out := 1, wide(s.out)
			if i == 0 {
				stride = s.strides
			}
			m.Features = append(m.Features, newInvertedResidual(in, out, stride, s.expand, norm))
			in = out
		}
	}
	m.Features = append(m.Features, newReLU6(in, last, 1, 1, 1, norm))
	m.Classifier = nn.Sequential{nn.NewDropout(or(o.Dropout, 0.2)), nn.NewLinear(last, classes)}
	draw(m, kaimingOut, normalLinear(0.01))
	return m
}

// newReLU6 is a convolution with its norm and activation.
func newReLU6(in, out, kernel, stride, groups int, norm norms) nn.Layer {
	return ops.NewConv2dNormActivation(in, out, ops.Conv2dNormActivationOptions{KernelSize: kernel, Stride: stride, Groups: groups,
		NormLayer: norm, Activation: nn.ReLU6{InPlace: true}})
}

// Forward maps images [N, 3, H, W] to scores [N, classes].
func (m *MobileNetV2) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *MobileNetV2) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, m.Features, nn.NewAdaptiveAvgPool2d(1), nn.Flatten{}, m.Classifier)
}

// String describes the model, see [nn.String].
func (m *MobileNetV2) String() string { return nn.String(m) }

// invertedResidual is a bottleneck that is wide inside, and a way around it where the sizes fit.
type invertedResidual struct {
	Conv nn.Sequential

	residual bool
}

func newInvertedResidual(in, out, stride, expand int, norm norms) *invertedResidual {
	b, inside := &invertedResidual{residual: stride == 1 && in == out}, in*expand
	if expand != 1 {
		b.Conv = append(b.Conv, newReLU6(in, inside, 1, 1, 1, norm))
	}
	b.Conv = append(b.Conv, newReLU6(inside, inside, 3, stride, inside, norm), conv(inside, out, 1, 1), norm(out))
	return b
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (b *invertedResidual) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *invertedResidual) forward(x torch.Tensor) torch.Tensor {
	y := b.Conv.Forward(x)
	if !b.residual {
		return y
	}
	defer y.Close()
	return x.Add(y)
}

// ReprName is torchvision's name.
func (b *invertedResidual) ReprName() string { return "InvertedResidual" }
