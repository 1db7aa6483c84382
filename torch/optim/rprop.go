package optim

import (
	"github.com/libtorch-go/libtorch/torch"
)

// RpropOptions are the settings of [Rprop] other than the learning rate.
type RpropOptions struct {
	// factors of an element's step where the sign of its gradient changed, and where not; default {0.5, 1.2}
	Etas      [2]float64 `torch:"etas" default:"0.5,1.2"`
	StepSizes [2]float64 `torch:"step_sizes" default:"1e-6,50"` // the smallest and the largest step; default {1e-6, 50}
	Maximize  bool       `torch:"maximize"`                     // go up, not down
}

func (o *RpropOptions) slots(_ torch.Tensor, lr float64) []slot {
	return []slot{{name: stepCount, form: number}, {name: "prev"}, {name: "step_size", first: lr}}
}

func (o *RpropOptions) check([]torch.Tensor) string {
	return invalid(0 < o.Etas[0] && o.Etas[0] < 1 && 1 < o.Etas[1], "eta values", o.Etas[0], o.Etas[1])
}

// Rprop goes by the signs of full-batch gradients alone. Every element has a step size, which
// begins as the learning rate, grows while the sign stays and shrinks when it changes
// (Riedmiller and Braun, "A Direct Adaptive Method for Faster Backpropagation Learning: The
// RPROP Algorithm", 1993):
//
//	s = clamp(s * eta+ or eta-, smallest, largest)
//	p = p - sign(grad)*s                 not where the sign has just changed
type Rprop struct{ optimizer[RpropOptions] }

// NewRprop makes an optimizer for the parameters. PyTorch's default learning rate is 1e-2. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewRprop(params []torch.Tensor, lr float64, opts ...RpropOptions) *Rprop {
	return &Rprop{newOptimizer("rprop", rprop, params, lr, opts, "foreach", "capturable", "differentiable")}
}

func rprop(b *batch, _ float64, o *RpropOptions) {
	b.count()
	b = b.directed(o.Maximize, 0).real()
	for i, grad := range b.grads {
		previous, size := b.state[1][i], b.state[2][i]
		factor := grad.Mul(previous).Sign()
		turned, same := factor.LtScalar(0), factor.GtScalar(0)
		factor.MaskedFillInPlace(factor.EqScalar(0), 1).MaskedFillInPlace(same, o.Etas[1]).MaskedFillInPlace(turned, o.Etas[0])
		size.MulInPlace(factor).ClampInPlace(o.StepSizes[0], o.StepSizes[1])
		previous.CopyInPlace(grad).MaskedFillInPlace(turned, 0)
		b.params[i].AddCMulInPlace(previous.Sign(), size, torch.AddCMulOptions{Value: -1})
	}
}
