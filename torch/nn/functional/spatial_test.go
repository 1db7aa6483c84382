package functional_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// spatial are testdata/spatial.py's, in its order.
var spatial = []function{
	{"max_pool1d indices", func(i tensors) torch.Tensor {
		return pair(F.MaxPool1dWithIndices(i["signal"], 3, &F.MaxPoolOptions{Stride: 1, Padding: 1}))
	}},
	{"max_pool1d indices ceil", func(i tensors) torch.Tensor {
		return pair(F.MaxPool1dWithIndices(i["signal"], 2, &F.MaxPoolOptions{CeilMode: true, Dilation: 2}))
	}},
	{"adaptive_max_pool1d", func(i tensors) torch.Tensor { return F.AdaptiveMaxPool1d(i["signal"], 2) }},
	{"adaptive_max_pool1d indices", func(i tensors) torch.Tensor { return pair(F.AdaptiveMaxPool1dWithIndices(i["signal"], 3)) }},
	{"lp_pool1d", func(i tensors) torch.Tensor { return F.LPPool1d(i["signal"], 3, 2, nil) }},
	{"lp_pool1d strided", func(i tensors) torch.Tensor {
		return F.LPPool1d(i["signal"].Abs(), 1.5, 3, &F.LPPoolOptions{Stride: 1, CeilMode: true})
	}},
	{"max_unpool1d", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool1dWithIndices, F.MaxUnpool1d, i["signal"].Narrow(2, 0, 10), 2, &F.MaxUnpoolOptions{})
	}},
	{"max_unpool1d size", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool1dWithIndices, F.MaxUnpool1d, i["signal"], 2, &F.MaxUnpoolOptions{Stride: 3, OutputSize: i["signal"].Shape()})
	}},
	{"max_unpool1d padded", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool1dWithIndices, F.MaxUnpool1d, i["signal"], 3, &F.MaxUnpoolOptions{Stride: 2, Padding: 1})
	}},
	{"max_pool2d indices", func(i tensors) torch.Tensor {
		return pair(F.MaxPool2dWithIndices(i["image"], 3, &F.MaxPoolOptions{Stride: 1, Padding: 1}))
	}},
	{"max_pool2d indices ceil", func(i tensors) torch.Tensor {
		return pair(F.MaxPool2dWithIndices(i["image"], 2, &F.MaxPoolOptions{CeilMode: true, Dilation: 2}))
	}},
	{"adaptive_max_pool2d", func(i tensors) torch.Tensor { return F.AdaptiveMaxPool2d(i["image"], 2) }},
	{"adaptive_max_pool2d indices", func(i tensors) torch.Tensor { return pair(F.AdaptiveMaxPool2dWithIndices(i["image"], 3)) }},
	{"lp_pool2d", func(i tensors) torch.Tensor { return F.LPPool2d(i["image"], 3, 2, nil) }},
	{"lp_pool2d strided", func(i tensors) torch.Tensor {
		return F.LPPool2d(i["image"].Abs(), 1.5, 3, &F.LPPoolOptions{Stride: 1, CeilMode: true})
	}},
	{"max_unpool2d", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool2dWithIndices, F.MaxUnpool2d, i["image"].Narrow(2, 0, 8).Narrow(3, 0, 6), 2, &F.MaxUnpoolOptions{})
	}},
	{"max_unpool2d size", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool2dWithIndices, F.MaxUnpool2d, i["image"], 2, &F.MaxUnpoolOptions{Stride: 3, OutputSize: i["image"].Shape()})
	}},
	{"max_unpool2d padded", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool2dWithIndices, F.MaxUnpool2d, i["image"], 3, &F.MaxUnpoolOptions{Stride: 2, Padding: 1})
	}},
	{"max_pool3d indices", func(i tensors) torch.Tensor {
		return pair(F.MaxPool3dWithIndices(i["volume"], 3, &F.MaxPoolOptions{Stride: 1, Padding: 1}))
	}},
	{"max_pool3d indices ceil", func(i tensors) torch.Tensor {
		return pair(F.MaxPool3dWithIndices(i["volume"], 2, &F.MaxPoolOptions{CeilMode: true, Dilation: 2}))
	}},
	{"adaptive_max_pool3d", func(i tensors) torch.Tensor { return F.AdaptiveMaxPool3d(i["volume"], 2) }},
	{"adaptive_max_pool3d indices", func(i tensors) torch.Tensor { return pair(F.AdaptiveMaxPool3dWithIndices(i["volume"], 3)) }},
	{"lp_pool3d", func(i tensors) torch.Tensor { return F.LPPool3d(i["volume"], 3, 2, nil) }},
	{"lp_pool3d strided", func(i tensors) torch.Tensor {
		return F.LPPool3d(i["volume"].Abs(), 1.5, 3, &F.LPPoolOptions{Stride: 1, CeilMode: true})
	}},
	{"max_unpool3d", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool3dWithIndices, F.MaxUnpool3d, i["volume"].Narrow(3, 0, 4), 2, &F.MaxUnpoolOptions{})
	}},
	{"max_unpool3d padded", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool3dWithIndices, F.MaxUnpool3d, i["volume"].Narrow(2, 0, 3).Narrow(4, 0, 5), 3, &F.MaxUnpoolOptions{Stride: 2, Padding: 1})
	}},
	{"max_unpool3d size", func(i tensors) torch.Tensor {
		return unpool(F.MaxPool3dWithIndices, F.MaxUnpool3d, i["volume"], 2, &F.MaxUnpoolOptions{OutputSize: []int{4, 5, 6}})
	}},
	{"adaptive_avg_pool2d unchanged", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool2d(i["image"], []int{F.Unchanged, 2}) }},
	{"adaptive_avg_pool3d unchanged", func(i tensors) torch.Tensor {
		return F.AdaptiveAvgPool3d(i["volume"], []int{2, F.Unchanged, F.Unchanged})
	}},
	{"adaptive_max_pool2d unchanged", func(i tensors) torch.Tensor { return F.AdaptiveMaxPool2d(i["image"], []int{2, F.Unchanged}) }},
	{"fractional_max_pool2d", func(i tensors) torch.Tensor {
		return F.FractionalMaxPool2d(i["image"], 2, &F.FractionalMaxPoolOptions{OutputSize: []int{5, 4}})
	}},
	{"fractional_max_pool2d ratio", func(i tensors) torch.Tensor {
		return pair(F.FractionalMaxPool2dWithIndices(i["image"].Select(0, 0), []int{2, 1}, &F.FractionalMaxPoolOptions{OutputRatio: []float64{0.7, 0.5}}))
	}},
	{"fractional_max_pool2d samples", func(i tensors) torch.Tensor {
		return F.FractionalMaxPool2d(i["image"], 3, &F.FractionalMaxPoolOptions{OutputRatio: 0.5, RandomSamples: i["const_draws"]})
	}},
	{"fractional_max_pool3d", func(i tensors) torch.Tensor {
		return F.FractionalMaxPool3d(i["volume"], 2, &F.FractionalMaxPoolOptions{OutputSize: 2})
	}},
	{"fractional_max_pool3d ratio", func(i tensors) torch.Tensor {
		return pair(F.FractionalMaxPool3dWithIndices(i["volume"], 2, &F.FractionalMaxPoolOptions{OutputRatio: 0.6}))
	}},
	{"pad", func(i tensors) torch.Tensor { return F.Pad(i["image"], []int{1, 2, -1, 0}, &F.PadOptions{Value: 0.5}) }},
	{"pad zeros", func(i tensors) torch.Tensor { return F.Pad(i["signal"], []int{1, 2}, nil) }},
	{"pixel_shuffle", func(i tensors) torch.Tensor { return F.PixelShuffle(i["image"], 2) }},
	{"pixel_unshuffle", func(i tensors) torch.Tensor { return F.PixelUnshuffle(i["image"].Narrow(2, 0, 6).Narrow(3, 0, 6), 3) }},
	{"channel_shuffle", func(i tensors) torch.Tensor { return F.ChannelShuffle(i["image"], 2) }},
	{"unfold", func(i tensors) torch.Tensor { return F.Unfold(i["image"], 3, nil) }},
	{"unfold options", func(i tensors) torch.Tensor {
		return F.Unfold(i["image"], []int{2, 3}, &F.UnfoldOptions{Dilation: 2, Padding: []int{1, 0}, Stride: 2})
	}},
	{"fold", func(i tensors) torch.Tensor { return F.Fold(F.Unfold(i["image"], 2, nil), []int{9, 7}, 2, nil) }},
	{"fold options", func(i tensors) torch.Tensor {
		return F.Fold(F.Unfold(i["image"], 2, &F.UnfoldOptions{Padding: 1, Stride: 3}), []int{9, 7}, 2, &F.UnfoldOptions{Padding: 1, Stride: 3})
	}},
	{"affine_grid", func(i tensors) torch.Tensor { return F.AffineGrid(i["theta2d"], []int{2, 3, 4, 5}, nil) }},
	{"affine_grid corners", func(i tensors) torch.Tensor {
		return F.AffineGrid(i["theta3d"], []int{2, 3, 4, 5, 3}, &F.AffineGridOptions{AlignCorners: true})
	}},
	{"upsample", func(i tensors) torch.Tensor {
		return F.Upsample(i["image"], &F.InterpolateOptions{ScaleFactor: 2, Mode: "bicubic"})
	}},
	{"upsample_nearest", func(i tensors) torch.Tensor { return F.UpsampleNearest(i["volume"], &F.UpsampleOptions{Size: 7}) }},
	{"upsample_bilinear", func(i tensors) torch.Tensor {
		return F.UpsampleBilinear(i["image"], &F.UpsampleOptions{ScaleFactor: 1.7})
	}},
	{"pad reflect signal", func(i tensors) torch.Tensor { return F.Pad(i["signal"], []int{2, 1}, &F.PadOptions{Mode: "reflect"}) }},
	{"pad reflect image", func(i tensors) torch.Tensor {
		return F.Pad(i["image"], []int{1, 2, 0, 1}, &F.PadOptions{Mode: "reflect"})
	}},
	{"pad reflect volume", func(i tensors) torch.Tensor {
		return F.Pad(i["volume"], []int{1, 2, 0, 1, 1, 1}, &F.PadOptions{Mode: "reflect"})
	}},
	{"pad replicate signal", func(i tensors) torch.Tensor { return F.Pad(i["signal"], []int{2, 1}, &F.PadOptions{Mode: "replicate"}) }},
	{"pad replicate image", func(i tensors) torch.Tensor {
		return F.Pad(i["image"], []int{1, 2, 0, 1}, &F.PadOptions{Mode: "replicate"})
	}},
	{"pad replicate volume", func(i tensors) torch.Tensor {
		return F.Pad(i["volume"], []int{1, 2, 0, 1, 1, 1}, &F.PadOptions{Mode: "replicate"})
	}},
	{"pad circular signal", func(i tensors) torch.Tensor { return F.Pad(i["signal"], []int{2, 1}, &F.PadOptions{Mode: "circular"}) }},
	{"pad circular image", func(i tensors) torch.Tensor {
		return F.Pad(i["image"], []int{1, 2, 0, 1}, &F.PadOptions{Mode: "circular"})
	}},
	{"pad circular volume", func(i tensors) torch.Tensor {
		return F.Pad(i["volume"], []int{1, 2, 0, 1, 1, 1}, &F.PadOptions{Mode: "circular"})
	}},
	{"grid_sample bilinear zeros true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bilinear", PaddingMode: "zeros", AlignCorners: true})
	}},
	{"grid_sample bilinear zeros false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bilinear", PaddingMode: "zeros", AlignCorners: false})
	}},
	{"grid_sample bilinear border true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bilinear", PaddingMode: "border", AlignCorners: true})
	}},
	{"grid_sample bilinear border false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bilinear", PaddingMode: "border", AlignCorners: false})
	}},
	{"grid_sample bilinear reflection true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bilinear", PaddingMode: "reflection", AlignCorners: true})
	}},
	{"grid_sample bilinear reflection false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bilinear", PaddingMode: "reflection", AlignCorners: false})
	}},
	{"grid_sample nearest zeros true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "nearest", PaddingMode: "zeros", AlignCorners: true})
	}},
	{"grid_sample nearest zeros false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "nearest", PaddingMode: "zeros", AlignCorners: false})
	}},
	{"grid_sample nearest border true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "nearest", PaddingMode: "border", AlignCorners: true})
	}},
	{"grid_sample nearest border false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "nearest", PaddingMode: "border", AlignCorners: false})
	}},
	{"grid_sample nearest reflection true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "nearest", PaddingMode: "reflection", AlignCorners: true})
	}},
	{"grid_sample nearest reflection false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "nearest", PaddingMode: "reflection", AlignCorners: false})
	}},
	{"grid_sample bicubic zeros true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bicubic", PaddingMode: "zeros", AlignCorners: true})
	}},
	{"grid_sample bicubic zeros false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bicubic", PaddingMode: "zeros", AlignCorners: false})
	}},
	{"grid_sample bicubic border true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bicubic", PaddingMode: "border", AlignCorners: true})
	}},
	{"grid_sample bicubic border false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bicubic", PaddingMode: "border", AlignCorners: false})
	}},
	{"grid_sample bicubic reflection true", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bicubic", PaddingMode: "reflection", AlignCorners: true})
	}},
	{"grid_sample bicubic reflection false", func(i tensors) torch.Tensor {
		return F.GridSample(i["image"], i["grid2d"], &F.GridSampleOptions{Mode: "bicubic", PaddingMode: "reflection", AlignCorners: false})
	}},
	{"grid_sample volume", func(i tensors) torch.Tensor { return F.GridSample(i["volume"], i["grid3d"], nil) }},
}

// resizes are the modes of Interpolate with all that can be combined with them.
func resizes() (list []function) {
	add := func(name, input string, o F.InterpolateOptions) {
		list = append(list, function{"interpolate " + name, func(i tensors) torch.Tensor { return F.Interpolate(i[input], &o) }})
	}
	for n, input := range map[int]string{1: "signal", 2: "image", 3: "volume"} {
		for _, mode := range []string{"nearest", "nearest-exact", "area", []string{"linear", "bilinear", "trilinear"}[n-1], "bicubic"} {
			if mode == "bicubic" && n != 2 {
				continue
			}
			corners := []*bool{nil}
			if strings.HasSuffix(mode, "linear") || mode == "bicubic" {
				corners = []*bool{nil, new(false), new(true)}
			}
			for _, c := range corners {
				text := fmt.Sprintf("%s %dd", mode, n)
				if c != nil {
					text += fmt.Sprintf(" %v", *c)
				}
				add(text+" size", input, F.InterpolateOptions{Mode: mode, AlignCorners: c, Size: 6})
				add(text+" factor", input, F.InterpolateOptions{Mode: mode, AlignCorners: c, ScaleFactor: 1.7})
				add(text+" recomputed", input, F.InterpolateOptions{Mode: mode, AlignCorners: c, ScaleFactor: 0.7, RecomputeScaleFactor: true})
			}
		}
	}
	for _, mode := range []string{"bilinear", "bicubic"} {
		add(mode+" smooth", "image", F.InterpolateOptions{Mode: mode, Antialias: true, Size: []int{4, 3}})
		add(mode+" smooth corners", "image", F.InterpolateOptions{Mode: mode, Antialias: true, ScaleFactor: []float64{0.5, 1.5}, AlignCorners: new(true)})
	}
	return list
}

// unpool pools x and reverses it.
func unpool(
	pool func(x torch.Tensor, window F.Size, o *F.MaxPoolOptions) (values, indices torch.Tensor),
	reverse func(x, indices torch.Tensor, window F.Size, o *F.MaxUnpoolOptions) torch.Tensor,
	x torch.Tensor, window int, o *F.MaxUnpoolOptions,
) torch.Tensor {
	values, indices := pool(x, window, &F.MaxPoolOptions{Stride: o.Stride, Padding: o.Padding})
	return reverse(values, indices, window, o)
}

func TestSpatial(t *testing.T) {
	equalsPython(t, "testdata/spatial.py", append(spatial, resizes()...))
}
