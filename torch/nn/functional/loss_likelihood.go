package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// PoissonNLLLossOptions are the rarer arguments of [PoissonNLLLoss].
type PoissonNLLLossOptions struct {
	NoLogInput bool            // x holds rates; default: their logarithms
	Full       bool            // add Stirling's approximation of log(target!)
	Eps        *float64        // added to rates before their logarithm is taken; default 1e-8
	Reduction  torch.Reduction // default mean
}

// PoissonNLLLoss is the negative log likelihood of counts target given a Poisson
// distribution with rates exp(x): exp(x) - target*x. The two are broadcast.
func PoissonNLLLoss(x, target torch.Tensor, opts ...PoissonNLLLossOptions) torch.Tensor {
	v := option.One(opts)
	return aten.PoissonNLLLoss(x, target, !v.NoLogInput, v.Full, orFloat(v.Eps, 1e-8), v.Reduction)
}

// GaussianNLLLossOptions are the rarer arguments of [GaussianNLLLoss].
type GaussianNLLLossOptions struct {
	Full      bool            // add the constant term, log(2π)/2
	Eps       *float64        // the least variance; default 1e-6
	Reduction torch.Reduction // default mean
}

// halfLog2Pi is log(2π)/2.
const halfLog2Pi = 0.9189385332046727

// GaussianNLLLoss is the negative log likelihood of target given normal distributions with
// expectations x and variances variance: x's shape, or that with the last dimension
// missing or one dimension of size 1. Variances must not be negative.
func GaussianNLLLoss(x, target, variance torch.Tensor, opts ...GaussianNLLLossOptions) torch.Tensor {
	const op = "gaussian_nll_loss"
	v := option.One(opts)
	return torch.Scope1(func() torch.Tensor {
		if variance.LtScalar(0).Any().Item() == true {
			torch.Throw(op, torch.KindValue, "var has negative entry/entries")
		}
		variance = fitVariance(op, variance, x.Shape())
		variance = variance.Clone()
		torch.NoGrad(func() { variance.ClampMinInPlace(orFloat(v.Eps, 1e-6)) })
		error2 := x.Sub(target).PowScalar(2).Div(variance)
		loss := variance.Log().Add(error2).MulScalar(0.5)
		if v.Full {
			loss = loss.AddScalarInPlace(halfLog2Pi)
		}
		return reduce(loss, v.Reduction)
	})
}

// fitVariance is variance in a form that broadcasts to shape.
func fitVariance(op string, variance torch.Tensor, shape []int) torch.Tensor {
	own := variance.Shape()
	switch {
	case slices.Equal(own, shape):
		return variance
	case len(shape) > 0 && slices.Equal(own, shape[:len(shape)-1]):
		return variance.Unsqueeze(-1)
	case len(own) == len(shape):
		differing := 0
		for i, n := range own {
			if n != shape[i] {
				differing += n
			}
		}
		if differing == 1 {
			return variance
		}
	}
	torch.Throw(op, torch.KindValue, "var is of incorrect size")
	return variance
}

// CTCLossOptions are the rarer arguments of [CTCLoss]: Blank, the class of "no label", by
// default 0; Reduction; and ZeroInfinity, for which an infinite loss, that of a target too
// long for its input, counts as 0.
type CTCLossOptions = aten.CTCLossOptions

// CTCLoss is how badly a sequence of predictions is aligned with a shorter one of labels:
// logProbs [T, N, C] or [T, C] holds logarithms of probabilities, targets [N, S] or all
// labels one after another. The lengths say how much of each sequence to use. A label that
// is not a class is refused, because libtorch does not check it.
func CTCLoss(logProbs, targets torch.Tensor, inputLengths, targetLengths []int, opts ...CTCLossOptions) torch.Tensor {
	v := option.One(opts)
	return aten.CTCLoss(logProbs, targets, inputLengths, targetLengths, v)
}

// CTCLossTensor is [CTCLoss] with lengths in tensors [N] of integers.
func CTCLossTensor(logProbs, targets, inputLengths, targetLengths torch.Tensor, opts ...CTCLossOptions) torch.Tensor {
	v := option.One(opts)
	return aten.CTCLossTensor(logProbs, targets, inputLengths, targetLengths, v)
}
