package models

import (
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// drawConvolutions gives the convolutions of a model torchvision's initial values, from the
// outside in. Batch norms begin with 1 and 0 by themselves.
func drawConvolutions(model nn.Layer) {
	for _, m := range nn.NamedModules(model) {
		c, ok := m.(*nn.Conv2d)
		if !ok {
			continue
		}
		nninit.KaimingNormal(c.Weight, nninit.KaimingOptions{Mode: nninit.FanOut, Nonlinearity: nninit.ReLU})
		if c.Bias.Defined() {
			nninit.Zeros(c.Bias)
		}
	}
}
