package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// AdamOptions are the settings of [Adam] and [AdamW] other than the learning rate. In a
// [Group] the pointers are never nil.
type AdamOptions struct {
	// part that the running means of gradient and square keep; default {0.9, 0.999}
	Betas       *[2]float64 `torch:"betas" default:"0.9,0.999"`
	Eps         *float64    `torch:"eps" default:"1e-8"`       // added to the root of the square's mean; default 1e-8
	WeightDecay *float64    `torch:"weight_decay" default:"0"` // default 0 for Adam, 0.01 for AdamW
	AMSGrad     bool        `torch:"amsgrad"`                  // divide by the largest mean of squares so far
	Maximize    bool        `torch:"maximize"`                 // go up, not down
	Unfused     bool        `torch:"!fused"`                   // compute with separate operators; see the package's documentation
}

func (o *AdamOptions) fused() bool { return !o.Unfused }

func (o *AdamOptions) slots(torch.Tensor, float64) []slot {
	if o.AMSGrad {
		return maxMoments
	}
	return moments
}

var (
	maxMoments = []slot{{name: stepCount, form: number}, {name: "exp_avg"}, {name: "exp_avg_sq"}, {name: "max_exp_avg_sq"}}
	moments    = maxMoments[:3]
)

func (o *AdamOptions) check([]torch.Tensor) string {
	return cmp.Or(negative("epsilon", *o.Eps), invalidBetas(*o.Betas), negative("weight_decay", *o.WeightDecay))
}

// Adam follows the running mean of the gradient, divided by the root of that of its square
// (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2014):
//
//	g = grad + weightDecay*p
//	m = beta1*m + (1-beta1)*g
//	v = beta2*v + (1-beta2)*g²          with AMSGrad (Reddi et al. 2018) the largest so far
//	p = p - lr/(1-beta1^t) * m / (sqrt(v/(1-beta2^t)) + eps)
type Adam struct {
	scaled[AdamOptions]
	decoupled bool // AdamW's weight decay
}

// AdamW is Adam whose weight decay shrinks the parameters instead of changing the
// gradients: p = (1 - lr*weightDecay)*p first (Loshchilov and Hutter, "Decoupled Weight Decay
// Regularization", 2017).
type AdamW struct{ Adam }

// NewAdam makes an optimizer for the parameters. PyTorch's default learning rate is 1e-3. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewAdam(params []torch.Tensor, lr float64, opts ...AdamOptions) *Adam {
	a := &Adam{}
	a.init("adam", false)
	a.AddGroup(params, lr, opts...)
	return a
}

// NewAdamW makes an optimizer for the parameters. PyTorch's default learning rate is 1e-3. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewAdamW(params []torch.Tensor, lr float64, opts ...AdamOptions) *AdamW {
	a := &AdamW{}
	a.init("adamw", true)
	a.AddGroup(params, lr, opts...)
	return a
}

func (a *Adam) init(name string, decoupled bool) {
	a.base, a.update, a.decoupled = newBase(name, "foreach", "capturable", "differentiable"), a.descend, decoupled
	a.fixed["decoupled_weight_decay"] = decoupled
}

// AddGroup adds parameters with settings of their own.
func (a *Adam) AddGroup(params []torch.Tensor, lr float64, opts ...AdamOptions) {
	o := option.One(opts)
	own := settled(o)
	if a.decoupled && o.WeightDecay == nil {
		*own.WeightDecay = 1e-2
	}
	a.addGroup(params, lr, own)
}

func (a *Adam) descend(b *batch, lr float64, o *AdamOptions) {
	if !b.fused {
		a.separately(b, lr, o)
		return
	}
	b.fuse(func() { a.fuse(b, lr, o) })
}

func (a *Adam) fuse(b *batch, lr float64, o *AdamOptions) {
	number, tensor, largest := cgo.OpAtenFusedAdamInPlace, cgo.OpAtenFusedAdamInPlaceTensorLR, noState
	if a.decoupled {
		number, tensor = cgo.OpAtenFusedAdamWInPlace, cgo.OpAtenFusedAdamWInPlaceTensorLR
	}
	if o.AMSGrad {
		largest = 3
	}
	var c cgo.Call
	b.begin(&c, number, tensor, 1, 2, largest, 0)
	b.putRate(&c, lr)
	c.Float(o.Betas[0])
	c.Float(o.Betas[1])
	c.Float(*o.WeightDecay)
	c.Float(*o.Eps)
	c.Bool(o.AMSGrad)
	c.Bool(o.Maximize)
	b.finish(&c)
}

func (a *Adam) separately(b *batch, lr float64, o *AdamOptions) {
	step := b.count()
	b = b.decayed(a.decoupled, o.Maximize, lr, *o.WeightDecay).real()
	mean, square := b.state[1], b.state[2]
	b.follow(mean, square, *o.Betas)
	if o.AMSGrad {
		aten.ForeachMaximumInPlace(b.state[3], square)
		square = b.state[3]
	}
	root := aten.ForeachSqrt(square...)
	aten.ForeachDivScalarInPlace(root, libm.Pow(unbias(o.Betas[1], step), 0.5))
	aten.ForeachAddScalarInPlace(root, *o.Eps)
	aten.ForeachAddCDivScalarInPlace(b.params, mean, root, aten.ForeachAddCDivScalarOptions{Value: -(lr / unbias(o.Betas[0], step))})
}

// unbias is the divisor that corrects a running mean which began at zero.
func unbias(beta, step float64) float64 { return 1 - libm.Pow(beta, step) }
