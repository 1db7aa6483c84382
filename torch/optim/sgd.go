package optim

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// SGDOptions are the settings of [SGD] besides the learning rate.
type SGDOptions struct {
	Momentum    float64 // part of the last step's direction that is kept; default 0
	Dampening   float64 // part of the gradient that momentum leaves out; default 0
	WeightDecay float64 // part of the parameter that is added to its gradient; default 0
	Nesterov    bool    // look ahead along the momentum
	Maximize    bool    // go up, not down
}

func (o *SGDOptions) fields() []setting {
	return []setting{{"momentum", &o.Momentum}, {"dampening", &o.Dampening}, {"weight_decay", &o.WeightDecay},
		{"nesterov", &o.Nesterov}, {"maximize", &o.Maximize}}
}

func (o *SGDOptions) kinds() []string {
	if o.Momentum == 0 {
		return nil
	}
	return []string{"momentum_buffer"}
}

func (o *SGDOptions) momentum() *float64 { return &o.Momentum }

func (o *SGDOptions) clone() settings {
	v := *o
	return &v
}

func (o *SGDOptions) check() string {
	switch {
	case !(o.Momentum >= 0):
		return "the momentum cannot be negative"
	case !(o.WeightDecay >= 0):
		return "the weight decay cannot be negative"
	case o.Nesterov && (o.Momentum == 0 || o.Dampening != 0):
		return "Nesterov needs a momentum, and no dampening"
	}
	return ""
}

// SGD is stochastic gradient descent, with momentum where wanted.
type SGD struct{ base }

// NewSGD makes an optimizer for the parameters.
func NewSGD(params []torch.Tensor, lr float64, o *SGDOptions) *SGD {
	s := &SGD{newBase("sgd", map[string]any{"foreach": nil, "differentiable": false, "fused": true})}
	s.AddGroup(params, lr, o)
	return s
}

// AddGroup adds parameters with settings of their own.
func (s *SGD) AddGroup(params []torch.Tensor, lr float64, o *SGDOptions) {
	if o == nil {
		o = &SGDOptions{}
	}
	s.addGroup(params, lr, o.clone())
}

// Step implements [Optimizer].
func (s *SGD) Step() { s.StepScaled(torch.Tensor{}, torch.Tensor{}) }

// StepScaled implements [Scaled].
func (s *SGD) StepScaled(scale, foundInf torch.Tensor) {
	s.step(newMomentum, func(g *Group, b *batch) {
		if b.fresh && foundInf.Defined() && foundInf.Float64() != 0 {
			s.unmake(b) // the kernel would leave the new momentum without values
			return
		}
		o := g.Options.(*SGDOptions)
		var momentum []torch.Tensor
		if len(b.state) > 0 {
			momentum = b.state[0]
		}
		aten.FusedSGDInPlace(b.params, b.grads, momentum, o.WeightDecay, o.Momentum, g.LR, o.Dampening, o.Nesterov, o.Maximize, b.fresh,
			aten.FusedSGDOptions{GradScale: b.on(scale), FoundInf: b.on(foundInf)})
	})
}

// newMomentum leaves the values to the kernel, which copies the gradient at the first step.
func newMomentum(_ string, _, grad torch.Tensor) torch.Tensor { return torch.EmptyLike(grad) }
