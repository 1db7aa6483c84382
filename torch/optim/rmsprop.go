package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// RMSpropOptions are the settings of [RMSprop] other than the learning rate. In a [Group]
// the pointers are never nil.
type RMSpropOptions struct {
	Alpha       *float64 `torch:"alpha" default:"0.99"` // part that the running means keep; default 0.99
	Eps         *float64 `torch:"eps" default:"1e-8"`   // added to the root; default 1e-8
	WeightDecay float64  `torch:"weight_decay"`         // part of the parameter that is added to its gradient; default 0
	Momentum    float64  `torch:"momentum"`             // part of the last step's direction that is kept; default 0
	Centered    bool     `torch:"centered"`             // divide by the deviation of gradients from their mean
	Maximize    bool     `torch:"maximize"`             // go up, not down
}

func (o *RMSpropOptions) slots(torch.Tensor, float64) []slot {
	list := []slot{{name: stepCount, form: number}, {name: "square_avg"}}
	if o.Centered {
		list = append(list, slot{name: "grad_avg"})
	}
	if o.Momentum > 0 {
		list = append(list, momentumBuffer...)
	}
	return list
}

func (o *RMSpropOptions) check([]torch.Tensor) string {
	return cmp.Or(negative("epsilon", *o.Eps), negative("momentum", o.Momentum), negative("weight_decay", o.WeightDecay),
		negative("alpha", *o.Alpha))
}

// RMSprop divides the gradient by the root of the running mean of its square (Hinton's lecture
// 6e, 2012; centered, Graves, "Generating Sequences With Recurrent Neural Networks", 2013):
//
//	g = grad + weightDecay*p
//	v = alpha*v + (1-alpha)*g²
//	a = alpha*a + (1-alpha)*g            where centered
//	d = g / (sqrt(v - a²) + eps)
//	m = momentum*m + d
//	p = p - lr*m
type RMSprop struct{ optimizer[RMSpropOptions] }

// NewRMSprop makes an optimizer for the parameters. PyTorch's default learning rate is 1e-2.
// It panics with a *torch.Error if a setting or a parameter is not valid.
func NewRMSprop(params []torch.Tensor, lr float64, opts ...RMSpropOptions) *RMSprop {
	return &RMSprop{newOptimizer("rmsprop", rmsprop, params, lr, opts, "foreach", "capturable", "differentiable")}
}

func rmsprop(b *batch, lr float64, o *RMSpropOptions) {
	b.count()
	b = b.directed(o.Maximize, o.WeightDecay).real()
	squares := b.state[1]
	average(squares, b.grads, *o.Alpha)
	var root []torch.Tensor
	if o.Centered {
		mean := b.state[2]
		aten.ForeachLerpScalarInPlace(mean, b.grads, 1-*o.Alpha)
		root = aten.ForeachAddCMulScalar(squares, mean, mean, aten.ForeachAddCMulScalarOptions{Value: -1})
		aten.ForeachSqrtInPlace(root...)
		aten.ForeachAddScalarInPlace(root, *o.Eps)
	} else {
		root = rootPlus(squares, *o.Eps)
	}
	if o.Momentum > 0 {
		momentum := b.state[len(b.state)-1]
		scale(momentum, o.Momentum)
		aten.ForeachAddCDivScalarInPlace(momentum, b.grads, root)
		b.descend(momentum, lr)
		return
	}
	aten.ForeachAddCDivScalarInPlace(b.params, b.grads, root, aten.ForeachAddCDivScalarOptions{Value: -lr})
}
