package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// reduce is the loss's mean or sum, or the loss, under another handle.
func reduce(loss torch.Tensor, r torch.Reduction) torch.Tensor {
	switch r {
	case torch.ReductionMean:
		return loss.Mean()
	case torch.ReductionSum:
		return loss.Sum()
	}
	return loss.Alias()
}

// weightedMean is [reduce] with a mean that divides by the sum of the weights.
func weightedMean(loss, weight torch.Tensor, r torch.Reduction) torch.Tensor {
	if r == torch.ReductionMean {
		return loss.Sum().Div(weight.Sum())
	}
	return reduce(loss, r)
}

func sameSizeWeight(op string, weight, x torch.Tensor) {
	if !slices.Equal(weight.Shape(), x.Shape()) {
		torch.Throw(op, torch.KindValue, "Weights and input must have the same size.")
	}
}

// inferSize is the shape that a and b are broadcast to.
func inferSize(op string, a, b []int) []int {
	shape := make([]int, max(len(a), len(b)))
	for i := range shape {
		at := len(shape) - 1 - i
		n, m := sizeFromEnd(a, i), sizeFromEnd(b, i)
		if n != m && n != 1 && m != 1 {
			torch.Throw(op, torch.KindGeneric,
				"The size of tensor a (%d) must match the size of tensor b (%d) at non-singleton dimension %d", n, m, at)
		}
		shape[at] = n
		if n == 1 {
			shape[at] = m
		}
	}
	return shape
}

// sizeFromEnd is the size of dimension i of a shape, counted from its end.
func sizeFromEnd(shape []int, i int) int {
	if i >= len(shape) {
		return 1
	}
	return shape[len(shape)-1-i]
}
