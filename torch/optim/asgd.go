package optim

import (
	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// ASGDOptions are the settings of [ASGD] other than the learning rate. In a [Group] the
// pointers are never nil.
type ASGDOptions struct {
	Lambd       *float64 `torch:"lambd" default:"1e-4"` // decay of the parameters and of the rate; default 1e-4
	Alpha       *float64 `torch:"alpha" default:"0.75"` // power of the rate's decay; default 0.75
	T0          *float64 `torch:"t0" default:"1e6"`     // the step at which averaging begins; default 1e6
	WeightDecay float64  `torch:"weight_decay"`         // part of the parameter that is added to its gradient; default 0
	Maximize    bool     `torch:"maximize"`             // go up, not down
}

func (o *ASGDOptions) slots(_ torch.Tensor, lr float64) []slot {
	return []slot{{name: stepCount, form: number}, {name: "eta", form: number, first: lr}, {name: "mu", form: number, first: 1}, {name: "ax"}}
}

func (o *ASGDOptions) check([]torch.Tensor) string { return negative("weight_decay", o.WeightDecay) }

// ASGD is stochastic gradient descent that also keeps the mean of the parameters since step
// t0, in the state "ax" (Polyak and Juditsky, "Acceleration of Stochastic Approximation by
// Averaging", 1992):
//
//	g   = grad + weightDecay*p
//	p   = (1 - lambd*eta)*p - eta*g
//	ax  = ax + mu*(p - ax)
//	eta = lr / (1 + lambd*lr*t)^alpha;  mu = 1/max(1, t-t0)    for the next step
type ASGD struct{ optimizer[ASGDOptions] }

// NewASGD makes an optimizer for the parameters. PyTorch's default learning rate is 1e-2. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewASGD(params []torch.Tensor, lr float64, opts ...ASGDOptions) *ASGD {
	return &ASGD{newOptimizer("asgd", asgd, params, lr, opts, "foreach", "capturable", "differentiable")}
}

func asgd(b *batch, lr float64, o *ASGDOptions) {
	step, eta, mu := b.count(), b.numbers[1], b.numbers[2]
	b = b.real().directed(o.Maximize, o.WeightDecay)
	mean := b.state[3]
	scale(b.params, 1-*o.Lambd*eta)
	b.descend(b.grads, eta)
	if mu == 1 {
		aten.ForeachCopyInPlace(mean, b.params)
	} else {
		ahead := aten.ForeachSub(b.params, mean)
		scale(ahead, mu)
		aten.ForeachAddInPlace(mean, ahead)
	}
	b.set(1, lr/libm.Pow(1+*o.Lambd*lr*step, *o.Alpha))
	b.set(2, 1/max(1, step-*o.T0))
}
