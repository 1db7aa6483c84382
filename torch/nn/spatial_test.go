package nn_test

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch/nn"
)

// What moves elements rather than compute with them.
var spatialCases = []moduleCase{
	layerRow("nn.PixelShuffle(1)", func() any { return nn.PixelShuffle{UpscaleFactor: 1} }, []int{2, 4, 6, 8}),
	layerRow("nn.PixelShuffle(2)", func() any { return nn.PixelShuffle{UpscaleFactor: 2} }, []int{2, 4, 6, 8}),
	layerRow("nn.PixelShuffle(2)", func() any { return nn.PixelShuffle{UpscaleFactor: 2} }, []int{8, 4, 2}),
	layerRow("nn.PixelUnshuffle(1)", func() any { return nn.PixelUnshuffle{DownscaleFactor: 1} }, []int{2, 4, 6, 8}),
	layerRow("nn.PixelUnshuffle(2)", func() any { return nn.PixelUnshuffle{DownscaleFactor: 2} }, []int{2, 4, 6, 8}),
	layerRow("nn.PixelUnshuffle(2)", func() any { return nn.PixelUnshuffle{DownscaleFactor: 2} }, []int{8, 4, 2}),
	layerRow("nn.ChannelShuffle(2)", func() any { return nn.ChannelShuffle{Groups: 2} }, []int{2, 4, 6, 8}),
	layerRow("nn.ChannelShuffle(4)", func() any { return nn.ChannelShuffle{Groups: 4} }, []int{2, 4, 3}),
	layerRow("nn.ChannelShuffle(1)", func() any { return nn.ChannelShuffle{Groups: 1} }, []int{2, 4, 6, 8}),
	layerRow("nn.Upsample(scale_factor=2)", func() any { return nn.Upsample{ScaleFactor: 2} }, []int{2, 4, 5, 6}),
	layerRow("nn.Upsample(size=(7, 3), mode='bilinear')", func() any { return nn.Upsample{Size: []int{7, 3}, Mode: "bilinear"} },
		[]int{2, 4, 5, 6}),
	layerRow("nn.Upsample(scale_factor=1.7, mode='linear', align_corners=True)",
		func() any { return nn.Upsample{ScaleFactor: 1.7, Mode: "linear", AlignCorners: new(true)} }, []int{2, 4, 5}),
	layerRow("nn.Upsample(scale_factor=1.7, mode='trilinear', recompute_scale_factor=True)",
		func() any { return nn.Upsample{ScaleFactor: 1.7, Mode: "trilinear", RecomputeScaleFactor: true} }, []int{2, 2, 3, 4, 5}),
	layerRow("nn.UpsamplingNearest2d(scale_factor=2)", func() any { return nn.UpsamplingNearest2d{ScaleFactor: 2} }, []int{2, 4, 5, 6}),
	layerRow("nn.UpsamplingNearest2d(size=7)", func() any { return nn.UpsamplingNearest2d{Size: 7} }, []int{2, 4, 5, 6}),
	layerRow("nn.UpsamplingNearest2d(size=(3, 8))", func() any { return nn.UpsamplingNearest2d{Size: []int{3, 8}} }, []int{2, 4, 5, 6}),
	layerRow("nn.UpsamplingBilinear2d(scale_factor=2)", func() any { return nn.UpsamplingBilinear2d{ScaleFactor: 2} }, []int{2, 4, 5, 6}),
	layerRow("nn.UpsamplingBilinear2d(size=7)", func() any { return nn.UpsamplingBilinear2d{Size: 7} }, []int{2, 4, 5, 6}),
	layerRow("nn.UpsamplingBilinear2d(size=(3, 8))", func() any { return nn.UpsamplingBilinear2d{Size: []int{3, 8}} }, []int{2, 4, 5, 6}),
	layerRow("nn.Unfold((2, 3))", func() any { return nn.Unfold{KernelSize: []int{2, 3}} }, image),
	layerRow("nn.Unfold(2, stride=2)", func() any { return nn.Unfold{KernelSize: 2, Options: nn.UnfoldOptions{Stride: 2}} }, []int{4, 5, 6}),
	layerRow("nn.Unfold(2, 2, 1, 3)", func() any {
		return nn.Unfold{KernelSize: 2, Options: nn.UnfoldOptions{Dilation: 2, Padding: 1, Stride: 3}}
	}, image),
	layerRow("nn.Fold(3, 2)", func() any { return nn.Fold{OutputSize: 3, KernelSize: 2} }, []int{2, 16, 4}),
	layerRow("nn.Fold(3, 2)", func() any { return nn.Fold{OutputSize: 3, KernelSize: 2} }, []int{16, 4}),
	layerRow("nn.Fold((5, 4), 2, stride=2, padding=1)", func() any {
		return nn.Fold{OutputSize: []int{5, 4}, KernelSize: 2, Options: nn.UnfoldOptions{Stride: 2, Padding: 1}}
	}, []int{2, 8, 9}),
	layerRow("nn.Unflatten(1, (2, 2))", func() any { return nn.Unflatten{Dim: 1, UnflattenedSize: []int{2, 2}} }, image),
	layerRow("nn.Unflatten(-2, (3, -1))", func() any { return nn.Unflatten{Dim: -2, UnflattenedSize: []int{3, -1}} }, image),
	layerRow("nn.Unflatten(0, (1, 3))", func() any { return nn.Unflatten{Dim: 0, UnflattenedSize: []int{1, 3}} }, image),
}

func TestSpatialEqualPython(t *testing.T) { equalPython(t, spatialCases) }
