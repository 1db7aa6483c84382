package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// SqueezeNetOptions are the rarer arguments of the SqueezeNets.
type SqueezeNetOptions struct {
	Dropout *float64 // probability before the last convolution; default 0.5
}

// SqueezeNet is as right as AlexNet with a fiftieth of its parameters (Iandola et al. 2016): its fire modules
// squeeze channels before they expand them again.
type SqueezeNet struct {
	Features   nn.Sequential
	Classifier nn.Sequential
}

// SqueezeNet1_0 is SqueezeNet 1.0: 1.2 million parameters with 1000 classes.
func SqueezeNet1_0(classes int, opts ...SqueezeNetOptions) *SqueezeNet {
	return newSqueezeNet(nn.Sequential{
		nn.NewConv2d(3, 96, 7, nn.ConvOptions{Stride: 2}), nn.ReLU{InPlace: true}, ceilPool(),
		newFire(96, 16, 64), newFire(128, 16, 64), newFire(128, 32, 128), ceilPool(),
		newFire(256, 32, 128), newFire(256, 48, 192), newFire(384, 48, 192), newFire(384, 64, 256), ceilPool(),
		newFire(512, 64, 256),
	}, classes, option.One(opts))
}

// SqueezeNet1_1 is SqueezeNet 1.1, which pools earlier and so takes less than half the time: 1.2 million
// parameters with 1000 classes.
func SqueezeNet1_1(classes int, opts ...SqueezeNetOptions) *SqueezeNet {
	return newSqueezeNet(nn.Sequential{
		nn.NewConv2d(3, 64, 3, nn.ConvOptions{Stride: 2}), nn.ReLU{InPlace: true}, ceilPool(),
		newFire(64, 16, 64), newFire(128, 16, 64), ceilPool(),
		newFire(128, 32, 128), newFire(256, 32, 128), ceilPool(),
		newFire(256, 48, 192), newFire(384, 48, 192), newFire(384, 64, 256), newFire(512, 64, 256),
	}, classes, option.One(opts))
}

// ceilPool halves height and width, rounded up.
func ceilPool() *nn.MaxPool2d {
	return nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, CeilMode: true})
}

func newSqueezeNet(features nn.Sequential, classes int, o SqueezeNetOptions) *SqueezeNet {
	last := nn.NewConv2d(512, classes, 1)
	s := &SqueezeNet{
		Features:   features,
		Classifier: nn.Sequential{nn.NewDropout(or(o.Dropout, 0.5)), last, nn.ReLU{InPlace: true}, nn.NewAdaptiveAvgPool2d(1)},
	}
	draw(s, func(c *nn.Conv2d) {
		if c == last {
			nninit.Normal(c.Weight, 0, 0.01)
		} else {
			nninit.KaimingUniform(c.Weight)
		}
		nninit.Zeros(c.Bias)
	}, nil)
	return s
}

// Forward maps images [N, 3, H, W], of 21x21 at least for version 1.0 and 17x17 for 1.1, to scores [N, classes].
func (s *SqueezeNet) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(s, x, s.forward) }

func (s *SqueezeNet) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, s.Features, s.Classifier, nn.Flatten{})
}

// String describes the model, see [nn.String].
func (s *SqueezeNet) String() string { return nn.String(s) }

// fire squeezes the channels and expands them by convolutions of two sizes.
type fire struct {
	Squeeze             *nn.Conv2d
	SqueezeActivation   nn.ReLU
	Expand1x1           *nn.Conv2d
	Expand1x1Activation nn.ReLU
	Expand3x3           *nn.Conv2d
	Expand3x3Activation nn.ReLU
}

func newFire(in, squeeze, expand int) *fire {
	relu := nn.ReLU{InPlace: true}
	return &fire{
		Squeeze: nn.NewConv2d(in, squeeze, 1), SqueezeActivation: relu,
		Expand1x1: nn.NewConv2d(squeeze, expand, 1), Expand1x1Activation: relu,
		Expand3x3: nn.NewConv2d(squeeze, expand, 3, nn.ConvOptions{Padding: 1}), Expand3x3Activation: relu,
	}
}

// Forward maps [N, in, H, W] to [N, 2*expand, H, W].
func (f *fire) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(f, x, f.forward) }

func (f *fire) forward(x torch.Tensor) torch.Tensor {
	x = nn.Chain(x, f.Squeeze, f.SqueezeActivation)
	defer x.Close()
	return join(nn.Chain(x, f.Expand1x1, f.Expand1x1Activation), nn.Chain(x, f.Expand3x3, f.Expand3x3Activation))
}

// ReprName is torchvision's name.
func (f *fire) ReprName() string { return "Fire" }
