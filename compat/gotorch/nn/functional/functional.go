package functional

import (
	"fmt"

	core "github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	torch "github.com/wangkuiyi/gotorch"
)

// ints are sizes as package torch has them.
func ints(list []int64) []int {
	r := make([]int, len(list))
	for i, v := range list {
		r[i] = int(v)
	}
	return r
}

// reductions are the words for what becomes of the losses of a batch.
var reductions = map[string]core.Reduction{
	"none": core.ReductionNone, "mean": core.ReductionMean, "sum": core.ReductionSum,
}

func reductionOf(word string) core.Reduction {
	r, ok := reductions[word]
	if !ok {
		panic(fmt.Sprintf("%q is no reduction: expected none, mean or sum", word))
	}
	return r
}

// BatchNorm normalises each channel: by the batch's own mean and variance in training, which update the running ones,
// else by the running ones.
func BatchNorm(input, runningMean, runningVar, weight, bias torch.Tensor, training bool, momentum, eps float64) torch.Tensor {
	return torch.Wrap(F.BatchNorm(torch.Unwrap(input), F.BatchNormOptions{
		RunningMean: torch.Unwrap(runningMean), RunningVar: torch.Unwrap(runningVar),
		Weight: torch.Unwrap(weight), Bias: torch.Unwrap(bias),
		Training: training, Momentum: &momentum, Eps: &eps,
	}))
}

// Conv2d is a convolution over images.
func Conv2d(input, weight, bias torch.Tensor, stride, padding, dilation []int64, groups int64) torch.Tensor {
	return torch.Wrap(F.Conv2d(torch.Unwrap(input), torch.Unwrap(weight), torch.Unwrap(bias), F.ConvOptions{
		Stride: ints(stride), Padding: ints(padding), Dilation: ints(dilation), Groups: int(groups),
	}))
}

// ConvTranspose2d is the transposed convolution over images.
func ConvTranspose2d(input, weight, bias torch.Tensor, stride, padding, outputPadding []int64, groups int64,
	dilation []int64) torch.Tensor {
	return torch.Wrap(F.ConvTranspose2d(torch.Unwrap(input), torch.Unwrap(weight), torch.Unwrap(bias), F.ConvTransposeOptions{
		Stride: ints(stride), Padding: ints(padding), OutputPadding: ints(outputPadding), Dilation: ints(dilation), Groups: int(groups),
	}))
}

// LogSoftmax is the logarithm of softmax along dim; a negative dim is 0 for tensors of 0, 1 and 3 dimensions, else 1.
func LogSoftmax(input torch.Tensor, dim int64) torch.Tensor {
	if dim < 0 {
		switch dim = 1; input.Dim() {
		case 0, 1, 3:
			dim = 0
		}
	}
	return input.LogSoftmax(dim)
}

// NllLoss is the negative log likelihood of the targets, which are classes. weight may be nil.
func NllLoss(input, target, weight torch.Tensor, ignoreIndex int64, reduction string) torch.Tensor {
	ignore := int(ignoreIndex)
	return torch.Wrap(F.NLLLoss(torch.Unwrap(input), torch.Unwrap(target), F.NLLLossOptions{
		Weight: torch.Unwrap(weight), IgnoreIndex: &ignore, Reduction: reductionOf(reduction),
	}))
}

// CrossEntropy is NllLoss of the log softmax. weight may be nil.
func CrossEntropy(input, target, weight torch.Tensor, ignoreIndex int64, reduction string) torch.Tensor {
	ignore := int(ignoreIndex)
	return torch.Wrap(F.CrossEntropy(torch.Unwrap(input), torch.Unwrap(target), F.CrossEntropyOptions{
		Weight: torch.Unwrap(weight), IgnoreIndex: &ignore, Reduction: reductionOf(reduction),
	}))
}

// BinaryCrossEntropy is the cross entropy between probabilities and targets from 0 to 1. weight may be nil.
func BinaryCrossEntropy(input, target, weight torch.Tensor, reduction string) torch.Tensor {
	return torch.Wrap(F.BinaryCrossEntropy(torch.Unwrap(input), torch.Unwrap(target), F.BCEOptions{
		Weight: torch.Unwrap(weight), Reduction: reductionOf(reduction),
	}))
}

// Relu is input, and 0 where it is negative; inplace overwrites input.
func Relu(input torch.Tensor, inplace bool) torch.Tensor {
	if inplace {
		return torch.Wrap(torch.Unwrap(input).ReLUInPlace())
	}
	return input.Relu()
}

// LeakyRelu is input, and negativeSlope*input where it is negative; inplace overwrites input.
func LeakyRelu(input torch.Tensor, negativeSlope float64, inplace bool) torch.Tensor {
	if inplace {
		return torch.Wrap(aten.LeakyReLUInPlace(torch.Unwrap(input), aten.LeakyReLUOptions{NegativeSlope: negativeSlope}))
	}
	return input.LeakyRelu(negativeSlope)
}

// Linear is input*weightᵀ + bias. bias may be nil.
func Linear(input, weight, bias torch.Tensor) torch.Tensor {
	return torch.Wrap(F.Linear(torch.Unwrap(input), torch.Unwrap(weight), torch.Unwrap(bias)))
}

// MaxPool2d is the largest element in each window.
func MaxPool2d(input torch.Tensor, kernelSize, stride, padding, dilation []int64, ceilMode bool) torch.Tensor {
	return torch.Wrap(F.MaxPool2d(torch.Unwrap(input), ints(kernelSize), F.MaxPoolOptions{
		Stride: ints(stride), Padding: ints(padding), Dilation: ints(dilation), CeilMode: ceilMode,
	}))
}

// AdaptiveAvgPool2d averages windows of whatever size gives outputSize.
func AdaptiveAvgPool2d(input torch.Tensor, outputSize []int64) torch.Tensor {
	return torch.Wrap(F.AdaptiveAvgPool2d(torch.Unwrap(input), ints(outputSize)))
}
