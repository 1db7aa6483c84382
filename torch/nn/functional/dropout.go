package functional

import (
	"github.com/libtorch-go/libtorch/torch"
)

// Dropout zeroes elements of x with probability p and scales the others by 1/(1-p) where
// training; otherwise the result is x itself, under another handle. PyTorch's default p
// is 0.5.
func Dropout(x torch.Tensor, p float64, training bool) torch.Tensor {
	return torch.Dropout(x, p, training)
}

// Dropout2d zeroes whole channels of x [N, C, H, W] as [Dropout] zeroes elements.
func Dropout2d(x torch.Tensor, p float64, training bool) torch.Tensor {
	return torch.FeatureDropout(x, p, training)
}
