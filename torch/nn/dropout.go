package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// Dropout zeroes elements with probability P in training and scales the others by 1/(1-P);
// in evaluation it does nothing.
type Dropout struct {
	P       float64
	InPlace bool // overwrite the input, and return it; of these layers Dropout alone does
	Mode    Mode
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
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor {
		if d.InPlace {
			return aten.DropoutInPlace(x, d.P, d.Mode.Training())
		}
		return F.Dropout(x, d.P, d.Mode.Training())
	})
}

// Dropout1d is [Dropout] of whole channels of [N, C, L] or [C, L].
type Dropout1d struct{ Dropout }

// Dropout2d is [Dropout] of whole channels of [N, C, H, W].
type Dropout2d struct{ Dropout }

// Dropout3d is [Dropout] of whole channels of [N, C, D, H, W] or [C, D, H, W].
type Dropout3d struct{ Dropout }

// AlphaDropout is [Dropout] for activations from [SELU]: it keeps their mean and variance.
type AlphaDropout struct{ Dropout }

// FeatureAlphaDropout is [AlphaDropout] of whole channels of [N, C, ...].
type FeatureAlphaDropout struct{ Dropout }

// NewDropout1d makes a layer; p may be left out: 0.5.
func NewDropout1d(p ...float64) *Dropout1d { return &Dropout1d{*newDropout(p)} }

// NewDropout2d makes a layer; p may be left out: 0.5.
func NewDropout2d(p ...float64) *Dropout2d { return &Dropout2d{*newDropout(p)} }

// NewDropout3d makes a layer; p may be left out: 0.5.
func NewDropout3d(p ...float64) *Dropout3d { return &Dropout3d{*newDropout(p)} }

// NewAlphaDropout makes a layer; p may be left out: 0.5.
func NewAlphaDropout(p ...float64) *AlphaDropout { return &AlphaDropout{*newDropout(p)} }

// NewFeatureAlphaDropout makes a layer; p may be left out: 0.5.
func NewFeatureAlphaDropout(p ...float64) *FeatureAlphaDropout {
	return &FeatureAlphaDropout{*newDropout(p)}
}

// Forward keeps the shape.
func (d *Dropout1d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor { return F.Dropout1d(x, d.P, d.Mode.Training()) })
}

// Forward keeps the shape.
func (d *Dropout2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor { return F.Dropout2d(x, d.P, d.Mode.Training()) })
}

// Forward keeps the shape.
func (d *Dropout3d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor { return F.Dropout3d(x, d.P, d.Mode.Training()) })
}

// Forward keeps the shape.
func (d *AlphaDropout) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor { return F.AlphaDropout(x, d.P, d.Mode.Training()) })
}

// Forward keeps the shape.
func (d *FeatureAlphaDropout) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(d, x, func(x torch.Tensor) torch.Tensor { return F.FeatureAlphaDropout(x, d.P, d.Mode.Training()) })
}
