package optim

import (
	"cmp"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// AdagradOptions are the settings of [Adagrad] other than the learning rate. In a [Group] Eps
// is never nil.
type AdagradOptions struct {
	LRDecay                 float64  `torch:"lr_decay"`                  // how fast the rate falls: lr / (1 + (t-1)*LRDecay); default 0
	WeightDecay             float64  `torch:"weight_decay"`              // part of the parameter that is added to its gradient; default 0
	InitialAccumulatorValue float64  `torch:"initial_accumulator_value"` // what the sums of squares begin with; default 0
	Eps                     *float64 `torch:"eps" default:"1e-10"`       // added to the root of the sum; default 1e-10
	Maximize                bool     `torch:"maximize"`                  // go up, not down
	Unfused                 bool     `torch:"!fused"`                    // compute with separate operators; see the package's documentation
}

func (o *AdagradOptions) fused() bool { return !o.Unfused }

func (o *AdagradOptions) complain(bool) string { return "" }

func (o *AdagradOptions) slots(torch.Tensor, float64) []slot {
	return []slot{{name: stepCount, form: number}, {name: "sum", first: o.InitialAccumulatorValue}}
}

func (o *AdagradOptions) check([]torch.Tensor) string {
	return cmp.Or(negative("lr_decay", o.LRDecay), negative("weight_decay", o.WeightDecay),
		negative("initial_accumulator_value", o.InitialAccumulatorValue), negative("epsilon", *o.Eps))
}

// Adagrad divides by the root of the sum of all squares so far (Duchi, Hazan and Singer,
// "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011):
//
//	g = grad + weightDecay*p
//	s = s + g²
//	p = p - lr/(1+(t-1)*lrDecay) * g / (sqrt(s) + eps)
type Adagrad struct{ scaled[AdagradOptions] }

// NewAdagrad makes an optimizer for the parameters. PyTorch's default learning rate is 1e-2.
// It panics with a *torch.Error if a setting or a parameter is not valid.
func NewAdagrad(params []torch.Tensor, lr float64, opts ...AdagradOptions) *Adagrad {
	a := &Adagrad{scaled[AdagradOptions]{optimizer[AdagradOptions]{newBase("adagrad", "foreach", "differentiable"), adagrad}}}
	a.AddGroup(params, lr, opts...)
	return a
}

// AddGroup adds parameters with settings of their own. As in
// PyTorch the state is there from the beginning.
func (a *Adagrad) AddGroup(params []torch.Tensor, lr float64, opts ...AdagradOptions) {
	own := settled(option.One(opts))
	g := a.addGroup(params, lr, own)
	torch.NoGrad(func() {
		for _, p := range params {
			a.stateOf(g, p, torch.Tensor{}, own.slots(p, lr))
		}
	})
}

func adagrad(b *batch, lr float64, o *AdagradOptions) {
	if b.fused {
		b.fuse(func() {
			var c cgo.Call
			b.begin(&c, cgo.OpAtenFusedAdagradInPlace, cgo.OpAtenFusedAdagradInPlaceTensorLR, 1, 0)
			b.putRate(&c, lr)
			c.Float(o.LRDecay)
			c.Float(o.WeightDecay)
			c.Float(*o.Eps)
			c.Bool(o.Maximize)
			b.finish(&c)
		})
		return
	}
	if b.kind.sparse() && o.WeightDecay != 0 {
		torch.Throw("adagrad", torch.KindGeneric, "weight_decay option is not compatible with sparse gradients")
	}
	rate := lr / (1 + (b.count()-1)*o.LRDecay)
	b = b.directed(o.Maximize, o.WeightDecay)
	if b.kind.sparse() {
		adagradSparse(b, rate, *o.Eps)
		return
	}
	b = b.real()
	sum := b.state[1]
	aten.ForeachAddCMulScalarInPlace(sum, b.grads, b.grads, aten.ForeachAddCMulScalarOptions{Value: 1})
	aten.ForeachAddCDivScalarInPlace(b.params, b.grads, rootPlus(sum, *o.Eps), aten.ForeachAddCDivScalarOptions{Value: -rate})
}

// adagradSparse changes only the elements for which there are gradients.
func adagradSparse(b *batch, rate, eps float64) {
	for i, grad := range b.grads {
		grad = grad.Coalesce() // the update is not linear: every element once
		values, sum := aten.Values(grad), b.state[1][i]
		sum.AddInPlace(located(grad, values.PowScalar(2)))
		root := aten.Values(sum.SparseMask(grad)).SqrtInPlace().AddScalarInPlace(eps)
		b.params[i].AddInPlace(located(grad, values.Div(root)), torch.AddOptions{Alpha: -rate})
	}
}
