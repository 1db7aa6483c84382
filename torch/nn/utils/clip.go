package nnutils

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

// NormOptions are the rarer arguments of [GetTotalNorm] and [ClipGradNorm].
type NormOptions struct {
	NormType         *float64 // the p of the p-norm, math.Inf(1) for the maximum; default 2
	ErrorIfNonfinite bool     // panic where the norm is infinite or NaN, which waits for the device
}

func (o *NormOptions) norm() float64 {
	if o == nil || o.NormType == nil {
		return 2
	}
	return *o.NormType
}

// ClipGradNorm scales the gradients of the parameters so that their norm, seen as one vector,
// is at most maxNorm, and returns the norm that they had: a tensor without dimensions, so
// that no device is waited for. Parameters without gradients are passed over.
func ClipGradNorm(params []torch.Tensor, maxNorm float64, opts ...NormOptions) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		grads := gradients(params)
		total := GetTotalNorm(grads, opts...)
		scaleDown(grads, maxNorm, total)
		return total
	})
}

// GetTotalNorm is the norm of all tensors, seen as one vector: a tensor without dimensions on
// the first one's device. It is 0 for no tensors. Nothing is recorded for autograd.
func GetTotalNorm(tensors []torch.Tensor, opts ...NormOptions) (total torch.Tensor) {
	o := option.One(opts)
	if len(tensors) == 0 {
		return torch.FromValue(float32(0))
	}
	p := o.norm()
	torch.NoGrad(func() {
		total = torch.Scope1(func() torch.Tensor {
			var norms []torch.Tensor
			for _, group := range alike(tensors) {
				for _, norm := range aten.ForeachNorm(group, aten.ForeachNormOptions{Ord: p}) {
					norms = append(norms, norm.To(tensors[0].Device()))
				}
			}
			return linalg.VectorNorm(torch.Stack(norms), linalg.VectorNormOptions{Ord: p})
		})
		if o.ErrorIfNonfinite && !isFinite(total) {
			total.Close()
			torch.Throw("clip_grad_norm", torch.KindGeneric,
				"The total norm of order %s for gradients from `parameters` is non-finite, so it cannot be clipped", pytext.Float(p))
		}
	})
	return total
}

// ClipGradsWithNorm is the second half of [ClipGradNorm]: it multiplies the gradients of the
// parameters by maxNorm/total where that is less than 1. Total is what [GetTotalNorm] said
// of them, or of more than them.
func ClipGradsWithNorm(params []torch.Tensor, maxNorm float64, total torch.Tensor) {
	torch.Scope(func() { scaleDown(gradients(params), maxNorm, total) })
}

// ClipGradValue limits every element of the parameters' gradients to ±value.
func ClipGradValue(params []torch.Tensor, value float64) {
	torch.NoGrad(func() {
		torch.Scope(func() {
			for _, group := range alike(gradients(params)) {
				aten.ForeachClampMinScalarInPlace(group, -value)
				aten.ForeachClampMaxScalarInPlace(group, value)
			}
		})
	})
}

func scaleDown(grads []torch.Tensor, maxNorm float64, total torch.Tensor) {
	torch.NoGrad(func() {
		factor := torch.DivScalarTensor(maxNorm, total.AddScalar(1e-6)).ClampMax(1.0)
		for _, group := range alike(grads) {
			aten.ForeachMulTensorInPlace(group, factor.To(group[0].Device()))
		}
	})
}

func gradients(params []torch.Tensor) []torch.Tensor {
	return slices.DeleteFunc(torch.Grads(params), func(g torch.Tensor) bool { return !g.Defined() })
}

func isFinite(x torch.Tensor) bool {
	v := x.Float64()
	return v-v == 0
}

func alike(tensors []torch.Tensor) [][]torch.Tensor {
	var groups [][]torch.Tensor
	for _, places := range GroupByDeviceAndDType(tensors) {
		group := make([]torch.Tensor, len(places))
		for i, place := range places {
			group[i] = tensors[place]
		}
		groups = append(groups, group)
	}
	return groups
}

// GroupByDeviceAndDType divides tensors into those that one call of a foreach operator takes
// best: their places in the list. The last group to begin comes first, as in PyTorch, which
// is of importance for the last bits of a norm.
func GroupByDeviceAndDType(tensors []torch.Tensor) (groups [][]int) {
	for place, t := range tensors {
		i := slices.IndexFunc(groups, func(g []int) bool {
			first := tensors[g[0]]
			return first.Device() == t.Device() && first.DType() == t.DType()
		})
		if i < 0 {
			groups, i = slices.Insert(groups, 0, nil), 0
		}
		groups[i] = append(groups[i], place)
	}
	return groups
}
