package models

import (
	torch "github.com/wangkuiyi/gotorch"
	"github.com/wangkuiyi/gotorch/nn"
)

// MLPModule has three linear layers, for images of 28 by 28 in ten classes.
type MLPModule struct {
	nn.Module
	FC1, FC2, FC3 *nn.LinearModule
}

// MLP makes an MLPModule.
func MLP() *MLPModule {
	m := &MLPModule{FC1: nn.Linear(28*28, 512, true), FC2: nn.Linear(512, 512, true), FC3: nn.Linear(512, 10, true)}
	m.Init(m)
	return m
}

// Forward is the log softmax of the classes.
func (n *MLPModule) Forward(x torch.Tensor) torch.Tensor {
	rows := func(x torch.Tensor) torch.Tensor { return x.View(-1, 28*28) }
	scores := func(x torch.Tensor) torch.Tensor { return x.LogSoftmax(1) }
	return chain(x, rows, n.FC1.Forward, torch.Tanh, n.FC2.Forward, torch.Tanh, n.FC3.Forward, scores)
}
