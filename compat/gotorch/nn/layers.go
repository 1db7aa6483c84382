package nn

import (
	"math"

	torch "github.com/wangkuiyi/gotorch"
	F "github.com/wangkuiyi/gotorch/nn/functional"
	"github.com/wangkuiyi/gotorch/nn/initializer"
)

// born is the Module of a layer that has just been made.
func born() Module { return Module{isTraining: true} }

// weights makes a weight and a bias of n numbers, or none, with the values that PyTorch's layers begin with.
func weights(shape []int64, bias bool, n int64) (w, b torch.Tensor) {
	w = torch.Empty(shape, true)
	initializer.KaimingUniform(&w, math.Sqrt(5), "fan_in", "leaky_relu")
	if bias {
		b = torch.Empty([]int64{n}, true)
		in, _ := initializer.CalculateFanInAndFanOut(w)
		bound := 1 / math.Sqrt(float64(in))
		initializer.Uniform(&b, -bound, bound)
	}
	return w, b
}

// LinearModule is x*weightᵀ + bias.
type LinearModule struct {
	Module
	InFeatures  int64
	OutFeatures int64
	Weight      torch.Tensor
	Bias        torch.Tensor
}

// Linear makes a LinearModule.
func Linear(in, out int64, bias bool) *LinearModule {
	l := &LinearModule{Module: born(), InFeatures: in, OutFeatures: out}
	l.Weight, l.Bias = weights([]int64{out, in}, bias, out)
	l.Init(l)
	return l
}

// Forward computes the layer.
func (l *LinearModule) Forward(x torch.Tensor) torch.Tensor { return F.Linear(x, l.Weight, l.Bias) }

// Conv2dModule is a convolution over images. Whatever was asked for, its PaddingMode is zeros.
type Conv2dModule struct {
	Module
	InChannels  int64
	OutChannels int64
	KernelSize  int64
	Stride      int64
	Padding     int64
	Dilation    int64
	Groups      int64
	PaddingMode string
	Weight      torch.Tensor
	Bias        torch.Tensor
}

// Conv2d makes a Conv2dModule.
func Conv2d(inChannels, outChannels, kernelSize, stride, padding, dilation, groups int64, bias bool, paddingMode string) *Conv2dModule {
	c := &Conv2dModule{
		Module: born(), InChannels: inChannels, OutChannels: outChannels, KernelSize: kernelSize,
		Stride: stride, Padding: padding, Dilation: dilation, Groups: groups, PaddingMode: "zeros",
	}
	c.Weight, c.Bias = weights([]int64{outChannels, inChannels / groups, kernelSize, kernelSize}, bias, outChannels)
	c.Init(c)
	return c
}

func pair(n int64) []int64 { return []int64{n, n} }

// Forward computes the layer.
func (c *Conv2dModule) Forward(x torch.Tensor) torch.Tensor {
	return F.Conv2d(x, c.Weight, c.Bias, pair(c.Stride), pair(c.Padding), pair(c.Dilation), c.Groups)
}

// ConvTranspose2dModule is a transposed convolution over images. Whatever was asked for, its PaddingMode is zeros.
type ConvTranspose2dModule struct {
	Module
	InChannels  int64
	OutChannels int64
	KernelSize  int64
	Stride      int64
	Padding     int64
	OutPadding  int64
	Groups      int64
	Dilation    int64
	PaddingMode string
	Weight      torch.Tensor
	Bias        torch.Tensor
}

// ConvTranspose2d makes a ConvTranspose2dModule.
func ConvTranspose2d(inChannels, outChannels, kernelSize, stride, padding, outPadding, groups int64, bias bool, dilation int64,
	paddingMode string) *ConvTranspose2dModule {
	c := &ConvTranspose2dModule{
		Module: born(), InChannels: inChannels, OutChannels: outChannels, KernelSize: kernelSize,
		Stride: stride, Padding: padding, OutPadding: outPadding, Groups: groups, Dilation: dilation, PaddingMode: "zeros",
	}
	c.Weight, c.Bias = weights([]int64{inChannels, outChannels / groups, kernelSize, kernelSize}, bias, outChannels)
	c.Init(c)
	return c
}

// Forward computes the layer.
func (c *ConvTranspose2dModule) Forward(x torch.Tensor) torch.Tensor {
	return F.ConvTranspose2d(x, c.Weight, c.Bias, pair(c.Stride), pair(c.Padding), pair(c.OutPadding), c.Groups, pair(c.Dilation))
}

// BatchNorm2dModule normalises each channel of a batch of images.
type BatchNorm2dModule struct {
	Module
	NumFeatures       int64
	Eps               float64
	Momentum          float64
	Affine            bool
	TrackRunningStats bool
	Weight            torch.Tensor
	Bias              torch.Tensor
	RunningMean       torch.Tensor `gotorch:"buffer"`
	RunningVar        torch.Tensor `gotorch:"buffer"`
}

// BatchNorm2d makes a BatchNorm2dModule.
func BatchNorm2d(numFeatures int64, eps, momentum float64, affine, trackRunningStats bool) *BatchNorm2dModule {
	b := &BatchNorm2dModule{
		Module: born(), NumFeatures: numFeatures, Eps: eps, Momentum: momentum, Affine: affine, TrackRunningStats: trackRunningStats,
	}
	shape := []int64{numFeatures}
	if affine {
		b.Weight, b.Bias = torch.Ones(shape, true), torch.Full(shape, 0, true)
	}
	if trackRunningStats {
		b.RunningMean, b.RunningVar = torch.Full(shape, 0, false), torch.Ones(shape, false)
	}
	b.Init(b)
	return b
}

// Forward computes the layer.
func (b *BatchNorm2dModule) Forward(x torch.Tensor) torch.Tensor {
	training := b.isTraining || b.RunningMean.T == nil && b.RunningVar.T == nil
	var mean, variance torch.Tensor
	if !b.isTraining || b.TrackRunningStats {
		mean, variance = b.RunningMean, b.RunningVar
	}
	return F.BatchNorm(x, mean, variance, b.Weight, b.Bias, training, b.Momentum, b.Eps)
}
