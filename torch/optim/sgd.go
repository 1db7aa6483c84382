package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// SGDOptions are the settings of [SGD] other than the learning rate.
type SGDOptions struct {
	Momentum    float64 `torch:"momentum"`     // part of the last step's direction that is kept; default 0
	Dampening   float64 `torch:"dampening"`    // part of the gradient that momentum leaves out; default 0
	WeightDecay float64 `torch:"weight_decay"` // part of the parameter that is added to its gradient; default 0
	Nesterov    bool    `torch:"nesterov"`     // look ahead along the momentum
	Maximize    bool    `torch:"maximize"`     // go up, not down
	Unfused     bool    `torch:"!fused"`       // compute with separate operators; see the package's documentation
}

func (o *SGDOptions) fused() bool { return !o.Unfused }

func (o *SGDOptions) slots(torch.Tensor, float64) []slot {
	if o.Momentum == 0 {
		return nil
	}
	return firstGradient
}

var (
	momentumBuffer = []slot{{name: "momentum_buffer"}}
	firstGradient  = []slot{{name: "momentum_buffer", follows: true}}
)

func (o *SGDOptions) check([]torch.Tensor) string {
	if o.Nesterov && (o.Momentum <= 0 || o.Dampening != 0) {
		return "Nesterov momentum requires a momentum and zero dampening"
	}
	return cmp.Or(negative("momentum", o.Momentum), negative("weight_decay", o.WeightDecay))
}

func (o *SGDOptions) complain(bool) string { return "" }

// SGD is stochastic gradient descent, with momentum where wanted:
//
//	g = grad + weightDecay*p
//	v = momentum*v + (1-dampening)*g    at the first step v = g
//	p = p - lr*v                        with Nesterov p - lr*(g + momentum*v)
//
// The momentum is that of Sutskever et al., "On the importance of initialization and momentum
// in deep learning" (2013).
type SGD struct{ scaled[SGDOptions] }

// NewSGD makes an optimizer for the parameters. PyTorch's default learning rate is 1e-3. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewSGD(params []torch.Tensor, lr float64, opts ...SGDOptions) *SGD {
	s := &SGD{}
	s.base, s.update = newBase("sgd", "foreach", "differentiable"), s.descend
	s.AddGroup(params, lr, opts...)
	return s
}

func (s *SGD) descend(b *batch, lr float64, o *SGDOptions) {
	var momentum []torch.Tensor
	if o.Momentum != 0 {
		momentum = b.state[0]
	}
	if !b.fused {
		b.descend(direction(b, momentum, o), lr)
		return
	}
	if b.fresh && b.found.Defined() && b.found.Float64() != 0 {
		s.unmake(b) // the kernel would take the next step for the second
		return
	}
	slot := 0
	if momentum == nil {
		slot = noState
	}
	below(func() {
		var c cgo.Call
		b.begin(&c, cgo.OpAtenFusedSGDInPlace, cgo.OpAtenFusedSGDInPlaceTensorLR, slot)
		c.Float(o.WeightDecay)
		c.Float(o.Momentum)
		b.putRate(&c, lr)
		c.Float(o.Dampening)
		c.Bool(o.Nesterov)
		c.Bool(o.Maximize)
		c.Bool(b.fresh)
		b.finish(&c)
	})
}

// direction is that of a step, after the momentum was updated.
func direction(b *batch, momentum []torch.Tensor, o *SGDOptions) []torch.Tensor {
	grads := b.directed(o.Maximize, o.WeightDecay).grads
	switch {
	case momentum == nil:
		return grads
	case b.fresh:
		aten.ForeachCopyInPlace(momentum, grads)
	default:
		scale(momentum, o.Momentum)
		aten.ForeachAddInPlace(momentum, grads, aten.ForeachAddOptions{Alpha: 1 - o.Dampening})
	}
	if o.Nesterov {
		return aten.ForeachAdd(grads, momentum, aten.ForeachAddOptions{Alpha: o.Momentum})
	}
	return momentum
}
