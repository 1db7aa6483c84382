package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// Dropout zeroes elements with probability P in training and scales the others by 1/(1-P);
// in evaluation it does nothing.
type Dropout struct {
	P    float64
	Mode Mode
}

// NewDropout makes a layer; PyTorch's default p is 0.5.
func NewDropout(p float64) *Dropout {
	if !(p >= 0 && p <= 1) {
		torch.Throw("dropout", torch.KindValue, "a probability lies between 0 and 1, got %v", p)
	}
	return &Dropout{P: p}
}

// Forward keeps the shape.
func (d *Dropout) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor { return F.Dropout(x, d.P, d.Mode.Training()) })
}
