package optim

import (
	"cmp"
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// SparseAdamOptions are the settings of [SparseAdam] other than the learning rate. In a
// [Group] Eps is never nil.
type SparseAdamOptions struct {
	Betas    *[2]float64 `torch:"betas" default:"0.9,0.999"` // part that the running means of gradient and square keep; default {0.9, 0.999}
	Eps      *float64    `torch:"eps" default:"1e-8"`        // added to the root of the square's mean; default 1e-8
	Maximize bool        `torch:"maximize"`                  // go up, not down
}

func (o *SparseAdamOptions) slots(torch.Tensor, float64) []slot {
	return []slot{{name: stepCount, form: count}, {name: "exp_avg"}, {name: "exp_avg_sq"}}
}

func (o *SparseAdamOptions) check(params []torch.Tensor) string {
	return cmp.Or(invalid(*o.Eps > 0, "epsilon value", *o.Eps), invalidBetas(*o.Betas), sparseParams(params),
		complexParams("SparseAdam", params))
}

func sparseParams(params []torch.Tensor) string {
	for i, p := range params {
		if p.Layout() != torch.Strided {
			return fmt.Sprintf("parameter %d is sparse: SparseAdam requires dense parameter tensors", i)
		}
	}
	return ""
}

func (o *SparseAdamOptions) complain(sparse bool) string {
	if !sparse {
		return "SparseAdam does not support dense gradients, please consider Adam instead"
	}
	return ""
}

// SparseAdam is [Adam] for gradients that are sparse tensors, as those of large embeddings:
// only the elements that a gradient has move, and only their running means change.
type SparseAdam struct{ optimizer[SparseAdamOptions] }

// NewSparseAdam makes an optimizer for the parameters, which are dense themselves. PyTorch's
// default learning rate is 1e-3. It panics with a *torch.Error if a setting or a parameter is
// not valid.
func NewSparseAdam(params []torch.Tensor, lr float64, opts ...SparseAdamOptions) *SparseAdam {
	return &SparseAdam{newOptimizer("sparse_adam", sparseAdam, params, lr, opts)}
}

func sparseAdam(b *batch, lr float64, o *SparseAdamOptions) {
	step := b.count()
	rate := lr * math.Sqrt(unbias(o.Betas[1], step)) / unbias(o.Betas[0], step)
	for i, grad := range b.directed(o.Maximize, 0).grads {
		grad = grad.Coalesce() // the update is not linear: every element once
		values := aten.Values(grad)
		if values.NumEl() == 0 {
			continue
		}
		mean := approach(b.state[1][i], grad, values, o.Betas[0])
		root := approach(b.state[2][i], grad, values.PowScalar(2), o.Betas[1]).SqrtInPlace().AddScalarInPlace(*o.Eps)
		b.params[i].AddInPlace(located(grad, mean.DivInPlace(root).MulScalar(-rate)))
	}
}

// approach moves a running mean towards values at the places of grad's elements, and returns
// the mean there.
func approach(mean, grad, values torch.Tensor, keep float64) torch.Tensor {
	old := aten.Values(mean.SparseMask(grad))
	change := values.Sub(old).MulScalarInPlace(1 - keep)
	mean.AddInPlace(located(grad, change))
	return change.AddInPlace(old)
}

// located are values at the places of grad's elements.
func located(grad, values torch.Tensor) torch.Tensor {
	return torch.SparseCOOTensorSize(aten.Indices(grad), values, grad.Shape())
}
