package nn_test

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch/nn"
)

// PyTorch's module database has the same settings, for one size each.
var normCases = []moduleCase{
	layerRow("nn.ConvTranspose1d(4, 6, 3)", func() any { return nn.NewConvTranspose1d(4, 6, 3) }, []int{2, 4, 9}),
	layerRow("nn.ConvTranspose1d(4, 6, 3)", func() any { return nn.NewConvTranspose1d(4, 6, 3) }, []int{4, 9}),
	layerRow("nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False)", func() any {
		return nn.NewConvTranspose1d(4, 6, 3, nn.ConvTransposeOptions{Stride: 2, Padding: 1, OutputPadding: 1, Groups: 2, NoBias: true})
	}, []int{2, 4, 9}),
	layerRow("nn.ConvTranspose1d(4, 6, 2, dilation=2, stride=3)",
		func() any { return nn.NewConvTranspose1d(4, 6, 2, nn.ConvTransposeOptions{Dilation: 2, Stride: 3}) }, []int{2, 4, 9}),
	layerRow("nn.InstanceNorm1d(4)", func() any { return nn.NewInstanceNorm1d(4) }, []int{2, 4, 9}),
	layerRow("nn.InstanceNorm1d(4)", func() any { return nn.NewInstanceNorm1d(4) }, []int{4, 9}),
	layerRow("nn.InstanceNorm1d(4, eps=1e-3, momentum=0.3, affine=True)", func() any {
		return nn.NewInstanceNorm1d(4, nn.InstanceNormOptions{Eps: new(1e-3), Momentum: new(0.3), Affine: true})
	}, []int{2, 4, 9}),
	layerRow("nn.InstanceNorm1d(4, 1e-3, 0.3, affine=True, track_running_stats=True)", func() any {
		return nn.NewInstanceNorm1d(4, nn.InstanceNormOptions{Eps: new(1e-3), Momentum: new(0.3), Affine: true, TrackRunningStats: true})
	}, []int{2, 4, 9}),
	layerRow("nn.InstanceNorm1d(4, track_running_stats=True)",
		func() any { return nn.NewInstanceNorm1d(4, nn.InstanceNormOptions{TrackRunningStats: true}) }, []int{4, 9}),
	layerRow("nn.ConvTranspose2d(4, 6, 3)", func() any { return nn.NewConvTranspose2d(4, 6, 3) }, []int{2, 4, 7, 9}),
	layerRow("nn.ConvTranspose2d(4, 6, 3)", func() any { return nn.NewConvTranspose2d(4, 6, 3) }, []int{4, 7, 9}),
	layerRow("nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False)", func() any {
		return nn.NewConvTranspose2d(4, 6, 3, nn.ConvTransposeOptions{Stride: 2, Padding: 1, OutputPadding: 1, Groups: 2, NoBias: true})
	}, []int{2, 4, 7, 9}),
	layerRow("nn.ConvTranspose2d(4, 6, 2, dilation=2, stride=3)",
		func() any { return nn.NewConvTranspose2d(4, 6, 2, nn.ConvTransposeOptions{Dilation: 2, Stride: 3}) }, []int{2, 4, 7, 9}),
	layerRow("nn.InstanceNorm2d(4)", func() any { return nn.NewInstanceNorm2d(4) }, []int{2, 4, 7, 9}),
	layerRow("nn.InstanceNorm2d(4)", func() any { return nn.NewInstanceNorm2d(4) }, []int{4, 7, 9}),
	layerRow("nn.InstanceNorm2d(4, eps=1e-3, momentum=0.3, affine=True)", func() any {
		return nn.NewInstanceNorm2d(4, nn.InstanceNormOptions{Eps: new(1e-3), Momentum: new(0.3), Affine: true})
	}, []int{2, 4, 7, 9}),
	layerRow("nn.InstanceNorm2d(4, 1e-3, 0.3, affine=True, track_running_stats=True)", func() any {
		return nn.NewInstanceNorm2d(4, nn.InstanceNormOptions{Eps: new(1e-3), Momentum: new(0.3), Affine: true, TrackRunningStats: true})
	}, []int{2, 4, 7, 9}),
	layerRow("nn.InstanceNorm2d(4, track_running_stats=True)",
		func() any { return nn.NewInstanceNorm2d(4, nn.InstanceNormOptions{TrackRunningStats: true}) }, []int{4, 7, 9}),
	layerRow("nn.ConvTranspose3d(4, 6, 3)", func() any { return nn.NewConvTranspose3d(4, 6, 3) }, []int{2, 4, 5, 4, 6}),
	layerRow("nn.ConvTranspose3d(4, 6, 3)", func() any { return nn.NewConvTranspose3d(4, 6, 3) }, []int{4, 5, 4, 6}),
	layerRow("nn.ConvTranspose3d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False)", func() any {
		return nn.NewConvTranspose3d(4, 6, 3, nn.ConvTransposeOptions{Stride: 2, Padding: 1, OutputPadding: 1, Groups: 2, NoBias: true})
	}, []int{2, 4, 5, 4, 6}),
	layerRow("nn.ConvTranspose3d(4, 6, 2, dilation=2, stride=3)",
		func() any { return nn.NewConvTranspose3d(4, 6, 2, nn.ConvTransposeOptions{Dilation: 2, Stride: 3}) }, []int{2, 4, 5, 4, 6}),
	layerRow("nn.InstanceNorm3d(4)", func() any { return nn.NewInstanceNorm3d(4) }, []int{2, 4, 5, 4, 6}),
	layerRow("nn.InstanceNorm3d(4)", func() any { return nn.NewInstanceNorm3d(4) }, []int{4, 5, 4, 6}),
	layerRow("nn.InstanceNorm3d(4, eps=1e-3, momentum=0.3, affine=True)", func() any {
		return nn.NewInstanceNorm3d(4, nn.InstanceNormOptions{Eps: new(1e-3), Momentum: new(0.3), Affine: true})
	}, []int{2, 4, 5, 4, 6}),
	layerRow("nn.InstanceNorm3d(4, 1e-3, 0.3, affine=True, track_running_stats=True)", func() any {
		return nn.NewInstanceNorm3d(4, nn.InstanceNormOptions{Eps: new(1e-3), Momentum: new(0.3), Affine: true, TrackRunningStats: true})
	}, []int{2, 4, 5, 4, 6}),
	layerRow("nn.InstanceNorm3d(4, track_running_stats=True)",
		func() any { return nn.NewInstanceNorm3d(4, nn.InstanceNormOptions{TrackRunningStats: true}) }, []int{4, 5, 4, 6}),
	layerRow("nn.RMSNorm([7, 9])", func() any { return nn.NewRMSNorm([]int{7, 9}) }, []int{2, 4, 7, 9}),
	layerRow("nn.RMSNorm(9, eps=1e-2)", func() any { return nn.NewRMSNorm([]int{9}, nn.RMSNormOptions{Eps: new(1e-2)}) }, []int{2, 4, 7, 9}),
	layerRow("nn.RMSNorm(9, elementwise_affine=False)",
		func() any { return nn.NewRMSNorm([]int{9}, nn.RMSNormOptions{NoElementwiseAffine: true}) }, []int{2, 4, 7, 9}),
	layerRow("nn.LocalResponseNorm(3)", func() any { return nn.LocalResponseNorm{Size: 3} }, []int{2, 4, 9}),
	layerRow("nn.LocalResponseNorm(3)", func() any { return nn.LocalResponseNorm{Size: 3} }, []int{2, 4, 7, 9}),
	layerRow("nn.LocalResponseNorm(3)", func() any { return nn.LocalResponseNorm{Size: 3} }, []int{2, 4, 5, 4, 6}),
	layerRow("nn.LocalResponseNorm(2, alpha=0.1, beta=0.5, k=2.)", func() any {
		return nn.LocalResponseNorm{Size: 2, Options: nn.LocalResponseNormOptions{Alpha: new(0.1), Beta: new(0.5), K: new(2.0)}}
	}, []int{2, 4, 7, 9}),
}

func TestConvTransposeAndNormEqualPython(t *testing.T) { equalPython(t, normCases) }
