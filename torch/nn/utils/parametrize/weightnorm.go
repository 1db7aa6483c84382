package parametrize

import (
	"cmp"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// WeightNormOptions are the rarer arguments of [WeightNorm].
type WeightNormOptions struct {
	Name string // of the parameter; default "weight"
	Dim  int    // what has a norm of its own; default 0, the output channels; -1: all of the weight has one
}

// WeightNorm separates the norm of a weight from its direction (Salimans and Kingma, 2016):
// original0 are the norms, original1 is the direction. It takes m over.
func WeightNorm[M any](m M, opts ...WeightNormOptions) *Module[M] {
	v := option.One(opts)
	return Register(m, cmp.Or(v.Name, "weight"), &WeightNormalization{v.Dim})
}

// WeightNormalization is what [WeightNorm] registers: g·v/‖v‖.
type WeightNormalization struct {
	Dim int
}

// Forward takes the norms g and the direction v.
func (w *WeightNormalization) Forward(originals ...torch.Tensor) torch.Tensor {
	return aten.WeightNorm(originals[1], originals[0], w.Dim)
}

// RightInverse returns the norms of a weight, and the weight.
func (w *WeightNormalization) RightInverse(weight torch.Tensor) []torch.Tensor {
	return []torch.Tensor{aten.NormExceptDim(weight, 2, w.Dim), weight}
}
