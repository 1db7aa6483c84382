package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// AdamaxOptions are the settings of [Adamax] other than the learning rate. In a [Group] Eps
// is never nil.
type AdamaxOptions struct {
	// part that the running mean and the largest gradient keep; default {0.9, 0.999}
	Betas       *[2]float64 `torch:"betas" default:"0.9,0.999"`
	Eps         *float64    `torch:"eps" default:"1e-8"` // added to the size of gradients; default 1e-8
	WeightDecay float64     `torch:"weight_decay"`       // part of the parameter that is added to its gradient; default 0
	Maximize    bool        `torch:"maximize"`           // go up, not down
}

func (o *AdamaxOptions) slots(torch.Tensor, float64) []slot {
	return []slot{{name: stepCount, form: number}, {name: "exp_avg"}, {name: "exp_inf"}}
}

func (o *AdamaxOptions) check([]torch.Tensor) string {
	return cmp.Or(negative("epsilon", *o.Eps), invalidBetas(*o.Betas), negative("weight_decay", o.WeightDecay))
}

// Adamax is [Adam] with the largest recent gradient instead of the mean of squares
// (Kingma and Ba 2014, section 7):
//
//	g = grad + weightDecay*p
//	m = beta1*m + (1-beta1)*g
//	u = max(beta2*u, |g| + eps)
//	p = p - lr/(1-beta1^t) * m/u
type Adamax struct{ optimizer[AdamaxOptions] }

// NewAdamax makes an optimizer for the parameters. PyTorch's default learning rate is 2e-3.
// It panics with a *torch.Error if a setting or a parameter is not valid.
func NewAdamax(params []torch.Tensor, lr float64, opts ...AdamaxOptions) *Adamax {
	return &Adamax{newOptimizer("adamax", adamax, params, lr, opts, "foreach", "capturable", "differentiable")}
}

func adamax(b *batch, lr float64, o *AdamaxOptions) {
	step := b.count()
	b = b.directed(o.Maximize, o.WeightDecay).real()
	mean, largest := b.state[1], b.state[2]
	aten.ForeachLerpScalarInPlace(mean, b.grads, 1-o.Betas[0])
	scale(largest, o.Betas[1])
	size := aten.ForeachAbs(b.grads...)
	aten.ForeachAddScalarInPlace(size, *o.Eps)
	aten.ForeachMaximumInPlace(largest, size)
	aten.ForeachAddCDivScalarInPlace(b.params, mean, largest, aten.ForeachAddCDivScalarOptions{Value: -(lr / unbias(o.Betas[0], step))})
}
