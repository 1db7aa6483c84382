package models

import (
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// draw gives the convolutions and the linear layers of a model their initial values, from the outside in, as
// torchvision does; nil leaves those of nn. Batch norms begin with 1 and 0 by themselves.
func draw(model nn.Layer, conv func(*nn.Conv2d), linear func(*nn.Linear)) {
	for _, m := range nn.NamedModules(model) {
		switch m := m.(type) {
		case *nn.Conv2d:
			if conv != nil {
				conv(m)
			}
		case *nn.Linear:
			if linear != nil {
				linear(m)
			}
		}
	}
}

// kaimingOut keeps the variance of gradients through a convolution and its ReLU.
func kaimingOut(c *nn.Conv2d) {
	nninit.KaimingNormal(c.Weight, nninit.KaimingOptions{Mode: nninit.FanOut, Nonlinearity: nninit.ReLU})
	if c.Bias.Defined() {
		nninit.Zeros(c.Bias)
	}
}

// normalLinear draws weights around zero and sets the bias to it.
func normalLinear(std float64) func(*nn.Linear) {
	return func(l *nn.Linear) {
		nninit.Normal(l.Weight, 0, std)
		if l.Bias.Defined() {
			nninit.Zeros(l.Bias)
		}
	}
}

// truncatedLinear draws weights around zero, none far from it, and sets the bias to it.
func truncatedLinear(std float64) func(*nn.Linear) {
	return func(l *nn.Linear) {
		nninit.TruncNormal(l.Weight, 0, std, -2, 2)
		if l.Bias.Defined() {
			nninit.Zeros(l.Bias)
		}
	}
}

// smallMLP draws the linear layers of a transformer's perceptron.
func smallMLP(mlp nn.Layer) {
	draw(mlp, nil, func(l *nn.Linear) {
		nninit.XavierUniform(l.Weight)
		if l.Bias.Defined() {
			nninit.Normal(l.Bias, 0, 1e-6)
		}
	})
}
