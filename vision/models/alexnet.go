package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// AlexNetOptions are the rarer arguments of [NewAlexNet].
type AlexNetOptions struct {
	Dropout *float64 // probability before the two hidden linear layers; default 0.5
}

// AlexNet is the network that began it (Krizhevsky et al. 2012), with the widths of "One weird trick for
// parallelizing convolutional neural networks" (Krizhevsky 2014).
type AlexNet struct {
	Features   nn.Sequential
	AvgPool    *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	Classifier nn.Sequential
}

// NewAlexNet is AlexNet: 61.1 million parameters with 1000 classes.
func NewAlexNet(classes int, opts ...AlexNetOptions) *AlexNet {
	const side, hidden = 6, 4096
	p := or(option.One(opts).Dropout, 0.5)
	relu, pool := nn.ReLU{InPlace: true}, nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2})
	padded := func(n int) nn.ConvOptions { return nn.ConvOptions{Padding: n} }
	return &AlexNet{
		Features: nn.Sequential{
			nn.NewConv2d(3, 64, 11, nn.ConvOptions{Stride: 4, Padding: 2}), relu, pool,
			nn.NewConv2d(64, 192, 5, padded(2)), relu, pool,
			nn.NewConv2d(192, 384, 3, padded(1)), relu,
			nn.NewConv2d(384, 256, 3, padded(1)), relu,
			nn.NewConv2d(256, 256, 3, padded(1)), relu, pool,
		},
		AvgPool: nn.NewAdaptiveAvgPool2d(side),
		Classifier: nn.Sequential{
			nn.NewDropout(p), nn.NewLinear(256*side*side, hidden), relu,
			nn.NewDropout(p), nn.NewLinear(hidden, hidden), relu,
			nn.NewLinear(hidden, classes),
		},
	}
}

// Forward maps images [N, 3, H, W], of 63x63 at least, to scores [N, classes].
func (a *AlexNet) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(a, x, a.forward) }

func (a *AlexNet) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, a.Features, a.AvgPool, nn.Flatten{}, a.Classifier)
}

// String describes the model, see [nn.String].
func (a *AlexNet) String() string { return nn.String(a) }
