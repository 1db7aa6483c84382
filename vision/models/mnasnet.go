package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// MNASNetOptions are the rarer arguments of the MNASNets.
type MNASNetOptions struct {
	Dropout *float64 // probability before the linear layer; default 0.2
}

// MNASNet is a network for small devices whose blocks were found by a search that measured their latency (Tan et
// al. 2018).
type MNASNet struct {
	Layers     nn.Sequential
	Classifier nn.Sequential
}

// StateVersion implements [nn.Versioned]: the first had fewer channels at its beginning.
func (*MNASNet) StateVersion() int { return 2 }

// MNASNet0_5 is MNASNet of half the width: 2.2 million parameters with 1000 classes.
func MNASNet0_5(classes int, opts ...MNASNetOptions) *MNASNet {
	return newMNASNet(0.5, classes, option.One(opts))
}

// MNASNet0_75 is MNASNet of three quarters of the width: 3.2 million parameters with 1000 classes.
func MNASNet0_75(classes int, opts ...MNASNetOptions) *MNASNet {
	return newMNASNet(0.75, classes, option.One(opts))
}

// MNASNet1_0 is MNASNet: 4.4 million parameters with 1000 classes.
func MNASNet1_0(classes int, opts ...MNASNetOptions) *MNASNet {
	return newMNASNet(1, classes, option.One(opts))
}

// MNASNet1_3 is MNASNet of 1.3 times the width: 6.3 million parameters with 1000 classes.
func MNASNet1_3(classes int, opts ...MNASNetOptions) *MNASNet {
	return newMNASNet(1.3, classes, option.One(opts))
}

// mnasNorm is a batch norm with the momentum of TensorFlow's networks.
func mnasNorm(channels int) *nn.BatchNorm2d {
	decay := 0.9997
	return nn.NewBatchNorm2d(channels, nn.BatchNormOptions{Momentum: new(1 - decay)})
}

func newMNASNet(width float64, classes int, o MNASNetOptions) *MNASNet {
	const last = 1280
	wide := func(channels float64) int { return divisible(channels*width, 8) }
	relu, stem, in := nn.ReLU{InPlace: true}, wide(32), wide(16)
	m := &MNASNet{Layers: nn.Sequential{
		conv(3, stem, 3, 2), mnasNorm(stem), relu,
		depthwise(stem, 3, 1), mnasNorm(stem), relu,
		conv(stem, in, 1, 1), mnasNorm(in),
	}}
	for _, s := range []struct {
		out                             float64
		kernel, stride, expand, repeats int
	}{{24, 3, 2, 3, 3}, {40, 5, 2, 3, 3}, {80, 5, 2, 6, 3}, {96, 3, 1, 6, 2}, {192, 5, 2, 6, 4}, {320, 3, 1, 6, 1}} {
		var stack nn.Sequential
		for range s.repeats {
			stack = append(stack, newMNASBlock(in, wide(s.out), s.kernel, s.stride, s.expand))
			in, s.stride = wide(s.out), 1
		}
		m.Layers = append(m.Layers, stack)
	}
	m.Layers = append(m.Layers, conv(in, last, 1, 1), mnasNorm(last), relu)
	m.Classifier = nn.Sequential{dropout(or(o.Dropout, 0.2)), nn.NewLinear(last, classes)}
	draw(m, kaimingOut, func(l *nn.Linear) {
		nninit.KaimingUniform(l.Weight, nninit.KaimingOptions{Mode: nninit.FanOut, Nonlinearity: nninit.Sigmoid})
		nninit.Zeros(l.Bias)
	})
	return m
}

// depthwise is a convolution of each channel by itself.
func depthwise(channels, kernel, stride int) *nn.Conv2d {
	return nn.NewConv2d(channels, channels, kernel, nn.ConvOptions{Stride: stride, Padding: kernel / 2, Groups: channels, NoBias: true})
}

// Forward maps images [N, 3, H, W] to scores [N, classes].
func (m *MNASNet) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *MNASNet) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, m.Layers, spatialMean{}, m.Classifier)
}

// String describes the model, see [nn.String].
func (m *MNASNet) String() string { return nn.String(m) }

// spatialMean is the mean over height and width.
type spatialMean struct{}

// Forward maps [N, C, H, W] to [N, C].
func (spatialMean) Forward(x torch.Tensor) torch.Tensor { return x.Mean(2, 3) }

// mnasBlock is a bottleneck that is wide inside, and a way around it where the sizes fit.
type mnasBlock struct {
	Layers nn.Sequential

	residual bool
}

func newMNASBlock(in, out, kernel, stride, expand int) *mnasBlock {
	relu, inside := nn.ReLU{InPlace: true}, in*expand
	return &mnasBlock{residual: in == out && stride == 1, Layers: nn.Sequential{
		conv(in, inside, 1, 1), mnasNorm(inside), relu,
		depthwise(inside, kernel, stride), mnasNorm(inside), relu,
		conv(inside, out, 1, 1), mnasNorm(out),
	}}
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (b *mnasBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *mnasBlock) forward(x torch.Tensor) torch.Tensor {
	y := b.Layers.Forward(x)
	if !b.residual {
		return y
	}
	defer y.Close()
	return y.Add(x)
}

// ReprName is torchvision's name.
func (b *mnasBlock) ReprName() string { return "_InvertedResidual" }
