package functional

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// Linear is x·weightᵀ + bias over the last dimension: x [..., in], weight [out, in] or
// [in], bias [out] or undefined, result [..., out].
func Linear(x, weight, bias torch.Tensor) torch.Tensor {
	return aten.Linear(x, weight, bias)
}

// Bilinear is x1ᵀ·weight·x2 + bias over the last dimensions: x1 [..., in1], x2 [..., in2],
// weight [out, in1, in2], bias [out] or undefined, result [..., out].
func Bilinear(x1, x2, weight, bias torch.Tensor) torch.Tensor {
	return aten.Bilinear(x1, x2, weight, bias)
}
