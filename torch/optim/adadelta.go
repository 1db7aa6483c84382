package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// AdadeltaOptions are the settings of [Adadelta] other than the learning rate. In a [Group]
// the pointers are never nil.
type AdadeltaOptions struct {
	Rho         *float64 `torch:"rho" default:"0.9"`  // part that the running means of squares keep; default 0.9
	Eps         *float64 `torch:"eps" default:"1e-6"` // added to the means before their roots; default 1e-6
	WeightDecay float64  `torch:"weight_decay"`       // part of the parameter that is added to its gradient; default 0
	Maximize    bool     `torch:"maximize"`           // go up, not down
}

func (o *AdadeltaOptions) slots(torch.Tensor, float64) []slot {
	return []slot{{name: stepCount, form: number}, {name: "square_avg"}, {name: "acc_delta"}}
}

func (o *AdadeltaOptions) check([]torch.Tensor) string {
	return cmp.Or(invalid(*o.Rho >= 0 && *o.Rho <= 1, "rho value", *o.Rho), negative("epsilon", *o.Eps),
		negative("weight_decay", o.WeightDecay))
}

// Adadelta sets the root of the mean of past changes in proportion to that of past gradients
// (Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012):
//
//	g = grad + weightDecay*p
//	v = rho*v + (1-rho)*g²
//	d = sqrt(u + eps) / sqrt(v + eps) * g
//	u = rho*u + (1-rho)*d²
//	p = p - lr*d
type Adadelta struct{ optimizer[AdadeltaOptions] }

// NewAdadelta makes an optimizer for the parameters. PyTorch's default learning rate is 1. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewAdadelta(params []torch.Tensor, lr float64, opts ...AdadeltaOptions) *Adadelta {
	return &Adadelta{newOptimizer("adadelta", adadelta, params, lr, opts, "foreach", "capturable", "differentiable")}
}

func adadelta(b *batch, lr float64, o *AdadeltaOptions) {
	b.count()
	b = b.directed(o.Maximize, o.WeightDecay).real()
	squares, changes := b.state[1], b.state[2]
	average(squares, b.grads, *o.Rho)
	std := aten.ForeachAddScalar(squares, *o.Eps)
	aten.ForeachSqrtInPlace(std...)
	delta := aten.ForeachAddScalar(changes, *o.Eps)
	aten.ForeachSqrtInPlace(delta...)
	aten.ForeachDivInPlace(delta, std)
	aten.ForeachMulInPlace(delta, b.grads)
	average(changes, delta, *o.Rho)
	b.descend(delta, lr)
}
