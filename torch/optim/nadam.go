package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// NAdamOptions are the settings of [NAdam] other than the learning rate. In a [Group]
// the pointers are never nil.
type NAdamOptions struct {
	// part that the running means of gradient and square keep; default {0.9, 0.999}
	Betas                *[2]float64 `torch:"betas" default:"0.9,0.999"`
	Eps                  *float64    `torch:"eps" default:"1e-8"`            // added to the root of the square's mean; default 1e-8
	WeightDecay          float64     `torch:"weight_decay"`                  // default 0
	MomentumDecay        *float64    `torch:"momentum_decay" default:"4e-3"` // how fast the momentum rises to beta1; default 4e-3
	DecoupledWeightDecay bool        `torch:"decoupled_weight_decay"`        // shrink the parameters, as AdamW does
	Maximize             bool        `torch:"maximize"`                      // go up, not down
}

func (o *NAdamOptions) slots(torch.Tensor, float64) []slot {
	return []slot{{name: stepCount, form: number}, {name: "mu_product", form: number, first: 1}, {name: "exp_avg"}, {name: "exp_avg_sq"}}
}

func (o *NAdamOptions) check([]torch.Tensor) string {
	return cmp.Or(negative("epsilon", *o.Eps), invalidBetas(*o.Betas), negative("weight_decay", o.WeightDecay),
		negative("momentum_decay", *o.MomentumDecay))
}

// NAdam is [Adam] that looks ahead along its momentum, which rises as it goes (Dozat,
// "Incorporating Nesterov Momentum into Adam", 2016):
//
//	mu(t) = beta1 * (1 - 0.96^(t*momentumDecay)/2)
//	m, v as Adam's; M = mu(1)*…*mu(t)
//	p = p - lr * ((1-mu(t))/(1-M)*g + mu(t+1)/(1-M*mu(t+1))*m) / (sqrt(v/(1-beta2^t)) + eps)
type NAdam struct{ optimizer[NAdamOptions] }

// NewNAdam makes an optimizer for the parameters. PyTorch's default learning rate is 2e-3. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewNAdam(params []torch.Tensor, lr float64, opts ...NAdamOptions) *NAdam {
	return &NAdam{newOptimizer("nadam", nadam, params, lr, opts, "foreach", "capturable", "differentiable")}
}

func nadam(b *batch, lr float64, o *NAdamOptions) {
	step := b.count()
	b = b.real().decayed(o.DecoupledWeightDecay, o.Maximize, lr, o.WeightDecay)
	mean, square := b.state[2], b.state[3]
	momentum := func(step float64) float64 {
		return o.Betas[0] * (1 - 0.5*libm.Pow(0.96, step*(*o.MomentumDecay)))
	}
	mu, next := momentum(step), momentum(step+1)
	b.set(1, float64(float32(b.numbers[1])*float32(mu))) // the product is a float32
	product := b.numbers[1]

	b.follow(mean, square, *o.Betas)
	root := aten.ForeachDivScalar(square, unbias(o.Betas[1], step))
	aten.ForeachSqrtInPlace(root...)
	aten.ForeachAddScalarInPlace(root, *o.Eps)
	aten.ForeachAddCDivScalarInPlace(b.params, b.grads, root, aten.ForeachAddCDivScalarOptions{Value: -lr * (1 - mu) / (1 - product)})
	aten.ForeachAddCDivScalarInPlace(b.params, mean, root, aten.ForeachAddCDivScalarOptions{Value: -lr * next / (1 - product*next)})
}
