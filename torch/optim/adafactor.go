package optim

import (
	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

// AdafactorOptions are the settings of [Adafactor] other than the learning rate. In a [Group]
// the pointers are never nil, except for the first of Eps.
type AdafactorOptions struct {
	Beta2Decay *float64 `torch:"beta2_decay" default:"-0.8"` // power of the step that new squares count with; default -0.8
	// the least root of a square's mean, and the least size of a parameter; default the resolution of the first parameter's dtype, and 1e-3
	Eps         [2]*float64 `torch:"eps" default:",1e-3"`
	D           *float64    `torch:"d" default:"1"` // the largest root mean square of an update; default 1
	WeightDecay float64     `torch:"weight_decay"`  // decoupled, as AdamW's; default 0
	Maximize    bool        `torch:"maximize"`      // go up, not down
}

func (o *AdafactorOptions) slots(p torch.Tensor, _ float64) []slot {
	n := p.Dim()
	if n < 2 {
		return []slot{{name: stepCount, form: number}, {name: "variance"}}
	}
	rows, columns := p.Shape(), p.Shape()
	rows[n-1], columns[n-2] = 1, 1
	return []slot{{name: stepCount, form: number}, {name: "row_var", shape: rows}, {name: "col_var", shape: columns}}
}

func (o *AdafactorOptions) check(params []torch.Tensor) string {
	switch {
	case !(*o.Beta2Decay <= 0):
		return "beta2_decay should be <= 0 but is: " + pytext.Float(*o.Beta2Decay)
	case o.Eps[0] != nil && !(*o.Eps[0] >= 0):
		return "epsilon1 should be >= 0 but is: " + pytext.Float(*o.Eps[0])
	case !(*o.Eps[1] >= 0):
		return "epsilon2 should be >= 0 but is: " + pytext.Float(*o.Eps[1])
	case !(*o.D >= 1):
		return "Clipping threshold d should be >= 1 but is: " + pytext.Float(*o.D)
	case !(o.WeightDecay >= 0):
		return "weight_decay should be >= 0 but is: " + pytext.Float(o.WeightDecay)
	}
	return complexParams("Adafactor", params)
}

// Adafactor estimates the mean of a matrix's squares from the means of its rows and columns,
// which takes almost no memory (Shazeer and Stern, "Adafactor: Adaptive Learning Rates with
// Sublinear Memory Cost", 2018). A tensor with more dimensions is a stack of matrices; for
// vectors all squares are kept.
//
//	w = t^beta2Decay
//	v = v + w*(grad² - v)                by rows and columns
//	u = grad / max(sqrt(v), eps1)
//	p = p - max(eps2, rms(p)) * min(lr, 1/sqrt(t)) * u / max(1, rms(u)/d)
type Adafactor struct{ optimizer[AdafactorOptions] }

// NewAdafactor makes an optimizer for the parameters. PyTorch's default learning rate is 1e-2.
// It panics with a *torch.Error if a setting or a parameter is not valid.
func NewAdafactor(params []torch.Tensor, lr float64, opts ...AdafactorOptions) *Adafactor {
	return &Adafactor{newOptimizer("adafactor", adafactor, params, lr, opts, "foreach")}
}

func adafactor(b *batch, lr float64, o *AdafactorOptions) {
	step := b.count()
	weight := libm.Pow(step, *o.Beta2Decay)
	rate := min(lr, 1/libm.Pow(step, 0.5))
	eps1 := o.least(b.group)
	for i, grad := range b.directed(o.Maximize, 0).grads {
		p := b.params[i]
		norm, root := extent(p)
		alpha := max(*o.Eps[1], norm/root) * rate
		if o.WeightDecay != 0 {
			scale([]torch.Tensor{p}, 1-lr*o.WeightDecay)
		}
		update := b.squares(i, grad, weight, eps1).ClampMinInPlace(eps1 * eps1).RsqrtInPlace()
		update.MulInPlace(grad)
		norm, root = extent(update)
		denom := max(1, norm/(root*(*o.D)))
		p.AddInPlace(update, torch.AddOptions{Alpha: -alpha / denom})
	}
}

// least is the smallest root of a square's mean. As in PyTorch the first parameter of a group
// decides for the others.
func (o *AdafactorOptions) least(g *Group) float64 {
	if o.Eps[0] != nil {
		return *o.Eps[0]
	}
	switch g.batches[0].dtype {
	case torch.Float64:
		return 0x1p-52
	case torch.Float16:
		return 0x1p-10
	case torch.BFloat16:
		return 0x1p-7
	}
	return 0x1p-23
}

// extent is the norm of a tensor, and the root of its number of elements.
func extent(t torch.Tensor) (norm, root float64) {
	return linalg.VectorNorm(t).Float64(), libm.Pow(float64(t.NumEl()), 0.5)
}

// squares updates the mean of a parameter's squares and returns a copy of it.
func (b *batch) squares(i int, grad torch.Tensor, weight, eps1 float64) torch.Tensor {
	if b.states == 2 {
		return b.state[1][i].LerpScalarInPlace(grad.Mul(grad), weight).Clone()
	}
	row, column := b.state[1][i], b.state[2][i]
	row.LerpScalarInPlace(meanOfSquares(grad, -1), weight)
	column.LerpScalarInPlace(meanOfSquares(grad, -2), weight)
	estimate := row.MatMul(column)
	return estimate.DivInPlace(row.MeanDim([]int{-2}, torch.MeanOptions{KeepDim: true}).ClampMinInPlace(eps1))
}

// meanOfSquares is the mean of squares along a dimension.
func meanOfSquares(grad torch.Tensor, dim int) torch.Tensor {
	norm := linalg.VectorNorm(grad, linalg.VectorNormOptions{Dim: []int{dim}, KeepDim: true})
	return norm.SquareInPlace().DivScalarInPlace(grad.Size(dim))
}
