package functional

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// Linear is x·weightᵀ + bias over the last dimension: x [..., in], weight [out, in] or
// [in], bias [out], result [..., out]. The bias may be left out.
func Linear(x, weight torch.Tensor, bias ...torch.Tensor) torch.Tensor {
	return aten.Linear(x, weight, option.One(bias))
}

// Bilinear is x1ᵀ·weight·x2 + bias over the last dimensions: x1 [..., in1], x2 [..., in2],
// weight [out, in1, in2], bias [out], result [..., out]. The bias may be left out.
func Bilinear(x1, x2, weight torch.Tensor, bias ...torch.Tensor) torch.Tensor {
	return aten.Bilinear(x1, x2, weight, option.One(bias))
}
