package functional

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// CosineSimilarityOptions are the rarer arguments of [CosineSimilarity]: Dim, along which
// the vectors lie, by default 1, and Eps, the least divisor, by default 1e-8.
type CosineSimilarityOptions = aten.CosineSimilarityOptions

// CosineSimilarity is the cosine of the angle between the vectors of x1 and x2, which are
// broadcast to each other. The result lacks the vectors' dimension.
func CosineSimilarity(x1, x2 torch.Tensor, opts ...CosineSimilarityOptions) torch.Tensor {
	return aten.CosineSimilarity(x1, x2, option.One(opts))
}

// PairwiseDistanceOptions are the rarer arguments of [PairwiseDistance]: the norm P, by
// default 2; Eps, added to the differences, by default 1e-6; KeepDim.
type PairwiseDistanceOptions = aten.PairwiseDistanceOptions

// PairwiseDistance is the norm of x1-x2 over the last dimension: x1 and x2 are [N, D] or
// [D], the result [N] or [].
func PairwiseDistance(x1, x2 torch.Tensor, opts ...PairwiseDistanceOptions) torch.Tensor {
	return aten.PairwiseDistance(x1, x2, option.One(opts))
}

// PDist is the distance, by the p-norm, of every pair of rows of x [N, D]: N(N-1)/2
// numbers. PyTorch's default p is 2.
func PDist(x torch.Tensor, p float64) torch.Tensor {
	return aten.PDist(x, aten.PDistOptions{P: new(p)})
}
