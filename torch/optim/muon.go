package optim

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

// MuonOptions are the settings of [Muon] other than the learning rate. In a [Group] the
// pointers are never nil.
type MuonOptions struct {
	WeightDecay *float64 `torch:"weight_decay" default:"0.1"` // decoupled, as AdamW's; default 0.1
	// part of the running mean of gradients that is kept; default 0.95
	Momentum   *float64 `torch:"momentum" default:"0.95"`
	NoNesterov bool     `torch:"!nesterov"` // do not look ahead along the momentum
	// of the Newton-Schulz iteration; default {3.4445, -4.775, 2.0315}
	NSCoefficients [3]float64 `torch:"ns_coefficients" default:"3.4445,-4.775,2.0315"`
	Eps            *float64   `torch:"eps" default:"1e-7"`   // the smallest norm to divide by; default 1e-7
	NSSteps        int        `torch:"ns_steps" default:"5"` // steps of the Newton-Schulz iteration; default 5
	// "original", the default: larger for tall matrices; "match_rms_adamw": as large as AdamW's updates;
	// "spectral_unclamped", of PyTorch 2.14: smaller for wide matrices, too
	AdjustLR string `torch:"adjust_lr_fn"`
}

func (o *MuonOptions) slots(torch.Tensor, float64) []slot { return momentumBuffer }

func (o *MuonOptions) check(params []torch.Tensor) string {
	switch {
	case !(*o.Momentum >= 0):
		return "momentum should be >= 0 but is: " + pytext.Float(*o.Momentum)
	case !(*o.WeightDecay >= 0):
		return "weight decay should be >= 0 but is: " + pytext.Float(*o.WeightDecay)
	case !slices.Contains([]string{"", "original", "match_rms_adamw", "spectral_unclamped"}, o.AdjustLR):
		return "Adjust learning rate function " + o.AdjustLR + " is not supported"
	case o.NSSteps >= 100:
		return "Number of steps must be less than 100 for computational efficiency"
	}
	for _, p := range params {
		if p.Dim() != 2 {
			return "Muon only supports 2D parameters whereas we found a parameter with size: " + pytext.Size(p.Shape())
		}
	}
	return complexParams("Muon", params)
}

// complexParams complains about complex parameters.
func complexParams(name string, params []torch.Tensor) string {
	for _, p := range params {
		if p.IsComplex() {
			return name + " does not support complex parameters"
		}
	}
	return ""
}

// Muon makes the momentum of a matrix orthogonal before it follows it, by a few steps of a
// Newton-Schulz iteration in bfloat16 (Jordan, "Muon: An optimizer for hidden layers in neural
// networks", 2024). It is for the matrices of hidden layers; leave biases, embeddings and the
// last layer to [AdamW].
//
//	m = momentum*m + (1-momentum)*grad
//	u = orthogonal(grad + momentum*(m - grad))
//	p = (1 - lr*weightDecay)*p - lr*sqrt(max(1, rows/columns))*u
type Muon struct{ optimizer[MuonOptions] }

// NewMuon makes an optimizer for the parameters, which must be matrices. PyTorch's default
// learning rate is 1e-3. It panics with a *torch.Error if a setting or a parameter is not
// valid.
func NewMuon(params []torch.Tensor, lr float64, opts ...MuonOptions) *Muon {
	return &Muon{newOptimizer("muon", muon, params, lr, opts)}
}

func muon(b *batch, lr float64, o *MuonOptions) {
	if complaint := o.check(b.params); complaint != "" { // a program may have changed them, by SetData too
		torch.Throw("muon", torch.KindValue, "%s", complaint)
	}
	momentum := b.state[0]
	aten.ForeachLerpScalarInPlace(momentum, b.grads, 1-*o.Momentum)
	update := momentum
	if !o.NoNesterov {
		update = aten.ForeachLerpScalar(b.grads, momentum, *o.Momentum)
	}
	for i, p := range b.params {
		orthogonal := o.orthogonal(update[i])
		scale([]torch.Tensor{p}, 1-lr*(*o.WeightDecay))
		p.AddInPlace(orthogonal, torch.AddOptions{Alpha: -o.adjusted(lr, p.Shape())})
	}
}

// orthogonal is roughly the nearest matrix whose singular values are all 1; they come out
// between 0.5 and 1.5, which serves as well.
func (o *MuonOptions) orthogonal(m torch.Tensor) torch.Tensor {
	a, b, c := o.NSCoefficients[0], o.NSCoefficients[1], o.NSCoefficients[2]
	x := m.To(torch.BFloat16)
	tall := m.Size(0) > m.Size(1)
	if tall {
		x = x.T()
	}
	x.DivInPlace(linalg.VectorNorm(x).ClampMin(*o.Eps))
	for range o.NSSteps {
		gram := x.MatMul(x.T())
		update := gram.AddMM(gram, gram, torch.AddMMOptions{Beta: b, Alpha: c})
		x = x.AddMM(update, x, torch.AddMMOptions{Beta: a})
	}
	if tall {
		return x.T()
	}
	return x
}

func (o *MuonOptions) adjusted(lr float64, shape []int) float64 {
	rows, columns := float64(shape[0]), float64(shape[1])
	switch o.AdjustLR {
	case "match_rms_adamw":
		return lr * (0.2 * math.Sqrt(max(rows, columns)))
	case "spectral_unclamped":
		return lr * math.Sqrt(rows/columns)
	default:
		return lr * math.Sqrt(max(1, rows/columns))
	}
}
