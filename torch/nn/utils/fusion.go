package nnutils

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// Convolution is a layer that [FuseConvBN] knows.
type Convolution interface {
	*nn.Conv1d | *nn.Conv2d | *nn.Conv3d | *nn.ConvTranspose1d | *nn.ConvTranspose2d | *nn.ConvTranspose3d
}

// BatchNorm is a batch normalisation of any dimension.
type BatchNorm interface {
	*nn.BatchNorm1d | *nn.BatchNorm2d | *nn.BatchNorm3d
	Common() *nn.BatchNorm
}

// FuseConvBN makes a convolution that does what conv does followed by bn in evaluation, to
// which bn must have been set. Both stay as they are.
func FuseConvBN[C Convolution, B BatchNorm](conv C, bn B) C {
	weight, bias, transposed := tensorsOf(conv)
	w, b := FuseConvBNWeights(weight, bias, checked("fuse_conv_bn_eval", bn.Common()), transposed)
	return nn.WithTensors(conv, map[string]torch.Tensor{"weight": w, "bias": b})
}

// FuseLinearBN makes a linear layer that does what linear does followed by bn in evaluation,
// to which bn must have been set. Both stay as they are. The normalisation has as many
// channels as the layer has results, or 1.
func FuseLinearBN[B BatchNorm](linear *nn.Linear, bn B) *nn.Linear {
	s := checked("fuse_linear_bn_eval", bn.Common())
	if out, n := linear.Weight.Size(0), s.RunningMean.NumEl(); n != out && n != 1 {
		torch.Throw("fuse_linear_bn_eval", torch.KindValue,
			"To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features=%d and bn.num_features=%d", out, n)
	}
	w, b := FuseLinearBNWeights(linear.Weight, linear.Bias, s)
	return nn.WithTensors(linear, map[string]torch.Tensor{"weight": w, "bias": b})
}

// FuseConvBNWeights is [FuseConvBN] for the tensors alone. Transposed convolutions have their
// output channels second in the weight. The bias may be undefined. The results are
// parameters; as in PyTorch a bias where there was none is not trained.
func FuseConvBNWeights(weight, bias torch.Tensor, bn *nn.BatchNorm, transposed bool) (w, b torch.Tensor) {
	return parameters(weight, bias, func() (torch.Tensor, torch.Tensor) {
		before, scale, shift := affine(bias, bn)
		rsqrt := bn.RunningVar.AddScalar(bn.Eps).Rsqrt()
		shape := slices.Repeat([]int{1}, weight.Dim())
		if shape[0] = -1; transposed {
			shape[0], shape[1] = 1, -1
		}
		return weight.Mul(scale.Mul(rsqrt).Reshape(shape...)), before.Sub(bn.RunningMean).Mul(rsqrt).Mul(scale).Add(shift)
	})
}

// FuseLinearBNWeights is [FuseLinearBN] for the tensors alone. The bias may be undefined. The
// results are parameters; as in PyTorch a bias where there was none is not trained.
func FuseLinearBNWeights(weight, bias torch.Tensor, bn *nn.BatchNorm) (w, b torch.Tensor) {
	return parameters(weight, bias, func() (torch.Tensor, torch.Tensor) {
		before, scale, shift := affine(bias, bn)
		scale = scale.Mul(bn.RunningVar.AddScalar(bn.Eps).Rsqrt())
		return weight.Mul(scale.Unsqueeze(-1).To(weight.DType())), before.Sub(bn.RunningMean).Mul(scale).Add(shift)
	})
}

// parameters makes a weight and a bias with the dtypes of those before.
func parameters(weight, bias torch.Tensor, compute func() (w, b torch.Tensor)) (newWeight, newBias torch.Tensor) {
	torch.NoGrad(func() {
		torch.Scope(func() {
			w, b := compute()
			newWeight = w.To(weight.DType()).Keep().SetRequiresGrad(weight.RequiresGrad())
			if newBias = b.To(weight.DType()).Keep(); bias.Defined() {
				newBias = b.To(bias.DType()).Keep().SetRequiresGrad(bias.RequiresGrad())
			}
		})
	})
	return newWeight, newBias
}

// affine is the bias before a normalisation, and the latter's scale and shift, all written
// out.
func affine(bias torch.Tensor, bn *nn.BatchNorm) (before, scale, shift torch.Tensor) {
	before, scale, shift = bias, bn.Weight, bn.Bias
	if !before.Defined() {
		before = torch.ZerosLike(bn.RunningMean)
	}
	if !scale.Defined() {
		scale, shift = torch.OnesLike(bn.RunningMean), torch.ZerosLike(bn.RunningMean)
	}
	return before, scale, shift
}

func tensorsOf(conv any) (weight, bias torch.Tensor, transposed bool) {
	switch c := conv.(type) {
	case *nn.Conv1d:
		return c.Weight, c.Bias, false
	case *nn.Conv2d:
		return c.Weight, c.Bias, false
	case *nn.Conv3d:
		return c.Weight, c.Bias, false
	case *nn.ConvTranspose1d:
		return c.Weight, c.Bias, true
	case *nn.ConvTranspose2d:
		return c.Weight, c.Bias, true
	}
	c := conv.(*nn.ConvTranspose3d)
	return c.Weight, c.Bias, true
}

// checked is bn, ready to be fused.
func checked(op string, bn *nn.BatchNorm) *nn.BatchNorm {
	if bn.Mode.Training() {
		torch.Throw(op, torch.KindValue, "Fusion only for eval!")
	}
	if !bn.RunningMean.Defined() {
		torch.Throw(op, torch.KindValue, "bn.running_mean and bn.running_var must not be None")
	}
	return bn
}
