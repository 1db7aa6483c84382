package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// Dropout zeroes elements with probability P in training and scales the others by 1/(1-P);
// in evaluation it does nothing.
type Dropout struct {
	P    float64
	Mode Mode
}

// NewDropout makes a layer that zeroes elements with probability p, which may be left out: 0.5.
func NewDropout(p ...float64) *Dropout { return newDropout(p) }

func newDropout(given []float64) *Dropout {
	p := 0.5
	if len(given) > 0 {
		p = option.One(given)
	}
	if !(p >= 0 && p <= 1) {
		torch.Throw("dropout", torch.KindValue, "a probability lies between 0 and 1, got %v", p)
	}
	return &Dropout{P: p}
}

// Forward keeps the shape.
func (d *Dropout) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor { return F.Dropout(x, d.P, d.Mode.Training()) })
}
