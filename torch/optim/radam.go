package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// RAdamOptions are the settings of [RAdam] other than the learning rate. In a [Group] Eps
// is never nil.
type RAdamOptions struct {
	// part that the running means of gradient and square keep; default {0.9, 0.999}
	Betas                *[2]float64 `torch:"betas" default:"0.9,0.999"`
	Eps                  *float64    `torch:"eps" default:"1e-8"`     // added to the root of the square's mean; default 1e-8
	WeightDecay          float64     `torch:"weight_decay"`           // default 0
	DecoupledWeightDecay bool        `torch:"decoupled_weight_decay"` // shrink the parameters, as AdamW does
	Maximize             bool        `torch:"maximize"`               // go up, not down
}

func (o *RAdamOptions) slots(torch.Tensor, float64) []slot { return moments }

func (o *RAdamOptions) check([]torch.Tensor) string {
	return cmp.Or(negative("epsilon", *o.Eps), invalidBetas(*o.Betas), negative("weight_decay", o.WeightDecay))
}

// RAdam is [Adam] that divides by the mean of squares only once that rests on enough steps,
// and at first with care (Liu et al., "On the Variance of the Adaptive Learning Rate and
// Beyond", 2019):
//
//	R = 2/(1-beta2) - 1;  r = R - 2*t*beta2^t/(1-beta2^t)
//	p = p - lr * m/(1-beta1^t) * sqrt((r-4)(r-2)R / ((R-4)(R-2)r)) * sqrt(1-beta2^t)/(sqrt(v)+eps)    where r > 5
//	p = p - lr * m/(1-beta1^t)                                                                        else
type RAdam struct{ optimizer[RAdamOptions] }

// NewRAdam makes an optimizer for the parameters. PyTorch's default learning rate is 1e-3. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewRAdam(params []torch.Tensor, lr float64, opts ...RAdamOptions) *RAdam {
	return &RAdam{newOptimizer("radam", radam, params, lr, opts, "foreach", "capturable", "differentiable")}
}

func radam(b *batch, lr float64, o *RAdamOptions) {
	step := b.count()
	b = b.real().decayed(o.DecoupledWeightDecay, o.Maximize, lr, o.WeightDecay)
	mean, square := b.state[1], b.state[2]
	b.follow(mean, square, *o.Betas)

	correction := unbias(o.Betas[1], step)
	longest := 2/(1-o.Betas[1]) - 1
	length := longest - 2*step*libm.Pow(o.Betas[1], step)/correction
	update := aten.ForeachDivScalar(mean, unbias(o.Betas[0], step))
	scale(update, lr)
	if length > 5 {
		rate := rootPlus(square, *o.Eps)
		aten.ForeachReciprocalInPlace(rate...)
		scale(rate, libm.Pow(correction, 0.5))
		aten.ForeachMulInPlace(update, rate)
		rectification := (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
		scale(update, libm.Pow(rectification, 0.5))
	}
	b.descend(update, 1)
}
