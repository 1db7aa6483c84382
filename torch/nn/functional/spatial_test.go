package functional_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// spatial are testdata/spatial.py's, in its order.
var spatial = []function{
	{"adaptive_avg_pool2d unchanged", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool2d(i["image"], []int{F.Unchanged, 2}) }},
	{"adaptive_avg_pool3d unchanged", func(i tensors) torch.Tensor {
		return F.AdaptiveAvgPool3d(i["volume"], []int{2, F.Unchanged, F.Unchanged})
	}},
	{"adaptive_max_pool2d unchanged", func(i tensors) torch.Tensor { return F.AdaptiveMaxPool2d(i["image"], []int{2, F.Unchanged}) }},
	{"fractional_max_pool2d", func(i tensors) torch.Tensor {
		return F.FractionalMaxPool2d(i["image"], 2, F.FractionalMaxPoolOptions{OutputSize: []int{5, 4}})
	}},
	{"fractional_max_pool2d ratio", func(i tensors) torch.Tensor {
		return pair(F.FractionalMaxPool2dWithIndices(i["image"].Select(0, 0), []int{2, 1},
			F.FractionalMaxPoolOptions{OutputRatio: []float64{0.7, 0.5}}))
	}},
	{"fractional_max_pool2d samples", func(i tensors) torch.Tensor {
		return F.FractionalMaxPool2d(i["image"], 3, F.FractionalMaxPoolOptions{OutputRatio: 0.5, RandomSamples: i["const_draws"]})
	}},
	{"fractional_max_pool3d", func(i tensors) torch.Tensor {
		return F.FractionalMaxPool3d(i["volume"], 2, F.FractionalMaxPoolOptions{OutputSize: 2})
	}},
	{"fractional_max_pool3d ratio", func(i tensors) torch.Tensor {
		return pair(F.FractionalMaxPool3dWithIndices(i["volume"], 2, F.FractionalMaxPoolOptions{OutputRatio: 0.6}))
	}},
	{"pad", func(i tensors) torch.Tensor { return F.Pad(i["image"], []int{1, 2, -1, 0}, F.PadOptions{Value: 0.5}) }},
	{"pad zeros", func(i tensors) torch.Tensor { return F.Pad(i["signal"], []int{1, 2}) }},
	{"pixel_shuffle", func(i tensors) torch.Tensor { return F.PixelShuffle(i["image"], 2) }},
	{"pixel_unshuffle", func(i tensors) torch.Tensor { return F.PixelUnshuffle(i["image"].Narrow(2, 0, 6).Narrow(3, 0, 6), 3) }},
	{"channel_shuffle", func(i tensors) torch.Tensor { return F.ChannelShuffle(i["image"], 2) }},
	{"unfold", func(i tensors) torch.Tensor { return F.Unfold(i["image"], 3) }},
	{"unfold options", func(i tensors) torch.Tensor {
		return F.Unfold(i["image"], []int{2, 3}, F.UnfoldOptions{Dilation: 2, Padding: []int{1, 0}, Stride: 2})
	}},
	{"fold", func(i tensors) torch.Tensor { return F.Fold(F.Unfold(i["image"], 2), []int{9, 7}, 2) }},
	{"fold options", func(i tensors) torch.Tensor {
		return F.Fold(F.Unfold(i["image"], 2, F.UnfoldOptions{Padding: 1, Stride: 3}), []int{9, 7}, 2, F.UnfoldOptions{Padding: 1, Stride: 3})
	}},
	{"affine_grid", func(i tensors) torch.Tensor { return F.AffineGrid(i["theta2d"], []int{2, 3, 4, 5}) }},
	{"affine_grid corners", func(i tensors) torch.Tensor {
		return F.AffineGrid(i["theta3d"], []int{2, 3, 4, 5, 3}, F.AffineGridOptions{AlignCorners: true})
	}},
	{"upsample", func(i tensors) torch.Tensor {
		return F.Upsample(i["image"], F.InterpolateOptions{ScaleFactor: 2, Mode: "bicubic"})
	}},
	{"upsample_nearest", func(i tensors) torch.Tensor { return F.UpsampleNearest(i["volume"], F.UpsampleOptions{Size: 7}) }},
	{"upsample_bilinear", func(i tensors) torch.Tensor {
		return F.UpsampleBilinear(i["image"], F.UpsampleOptions{ScaleFactor: 1.7})
	}},
	{"grid_sample volume", func(i tensors) torch.Tensor { return F.GridSample(i["volume"], i["grid3d"]) }},
}

// keys are the inputs of 1, 2 and 3 dimensions.
var keys = []string{"signal", "image", "volume"}

type (
	indexedPool = func(x torch.Tensor, window int, o ...F.MaxPoolOptions) (values, indices torch.Tensor)
	sizedPool   = func(x torch.Tensor, size int) torch.Tensor
	indexedSize = func(x torch.Tensor, size int) (values, indices torch.Tensor)
	normPool    = func(x torch.Tensor, p float64, window int, o ...F.LPPoolOptions) torch.Tensor
	unpooling   = func(x, indices torch.Tensor, window int, o ...F.MaxUnpoolOptions) torch.Tensor
)

// pools are the poolings of each number of dimensions.
func pools() []function {
	return slices.Concat(
		poolings(1, F.MaxPool1dWithIndices, F.AdaptiveMaxPool1d, F.AdaptiveMaxPool1dWithIndices, F.LPPool1d, F.MaxUnpool1d),
		poolings(2, F.MaxPool2dWithIndices, F.AdaptiveMaxPool2d, F.AdaptiveMaxPool2dWithIndices, F.LPPool2d, F.MaxUnpool2d),
		poolings(3, F.MaxPool3dWithIndices, F.AdaptiveMaxPool3d, F.AdaptiveMaxPool3dWithIndices, F.LPPool3d, F.MaxUnpool3d))
}

func poolings(n int, pool indexedPool, adaptive sizedPool, indexed indexedSize, lp normPool, reverse unpooling) (list []function) {
	key := keys[n-1]
	add := func(name string, call func(x torch.Tensor) torch.Tensor) {
		kind, rest, _ := strings.Cut(name, " ")
		list = append(list, function{strings.TrimSpace(fmt.Sprintf("%s%dd %s", kind, n, rest)),
			func(i tensors) torch.Tensor { return call(i[key]) }})
	}
	unpool := func(x torch.Tensor, window int, o F.MaxUnpoolOptions) torch.Tensor {
		values, indices := pool(x, window, F.MaxPoolOptions{Stride: o.Stride, Padding: o.Padding})
		return reverse(values, indices, window, o)
	}
	fitted := func(x torch.Tensor, fit func(size int) int) torch.Tensor {
		for d := -n; d < 0; d++ {
			x = x.Narrow(d, 0, fit(x.Size(d)))
		}
		return x
	}
	even := func(size int) int { return size / 2 * 2 }    // windows of 2 cover it
	odd := func(size int) int { return (size-1)/2*2 + 1 } // windows of 3 in steps of 2, with a border, cover it
	add("max_pool indices", func(x torch.Tensor) torch.Tensor {
		return pair(pool(x, 3, F.MaxPoolOptions{Stride: 1, Padding: 1}))
	})
	add("max_pool indices ceil", func(x torch.Tensor) torch.Tensor {
		return pair(pool(x, 2, F.MaxPoolOptions{CeilMode: true, Dilation: 2}))
	})
	add("adaptive_max_pool", func(x torch.Tensor) torch.Tensor { return adaptive(x, 2) })
	add("adaptive_max_pool indices", func(x torch.Tensor) torch.Tensor { return pair(indexed(x, 3)) })
	add("lp_pool", func(x torch.Tensor) torch.Tensor { return lp(x, 3, 2) })
	add("lp_pool strided", func(x torch.Tensor) torch.Tensor {
		return lp(x.Abs(), 1.5, 3, F.LPPoolOptions{Stride: 1, CeilMode: true})
	})
	add("max_unpool", func(x torch.Tensor) torch.Tensor { return unpool(fitted(x, even), 2, F.MaxUnpoolOptions{}) })
	add("max_unpool size", func(x torch.Tensor) torch.Tensor {
		return unpool(x, 2, F.MaxUnpoolOptions{Stride: 3, OutputSize: x.Shape()})
	})
	add("max_unpool last sizes", func(x torch.Tensor) torch.Tensor {
		return unpool(x, 2, F.MaxUnpoolOptions{OutputSize: x.Shape()[2:]})
	})
	add("max_unpool padded", func(x torch.Tensor) torch.Tensor {
		return unpool(fitted(x, odd), 3, F.MaxUnpoolOptions{Stride: 2, Padding: 1})
	})
	return list
}

// pads are the modes of Pad that take elements from the input.
func pads() (list []function) {
	for _, mode := range []string{"reflect", "replicate", "circular"} {
		for n, key := range keys {
			pad := []int{2, 1, 0, 1, 1, 1}[:2*(n+1)]
			list = append(list, function{"pad " + mode + " " + key,
				func(i tensors) torch.Tensor { return F.Pad(i[key], pad, F.PadOptions{Mode: mode}) }})
		}
	}
	return list
}

// grids are the modes of GridSample with all that can be combined with them.
func grids() (list []function) {
	for _, mode := range []string{"bilinear", "nearest", "bicubic"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for _, corners := range []bool{true, false} {
				o := F.GridSampleOptions{Mode: mode, PaddingMode: padding, AlignCorners: corners}
				list = append(list, function{fmt.Sprintf("grid_sample %s %s %v", mode, padding, corners), func(i tensors) torch.Tensor {
					return F.GridSample(i["image"], i["grid2d"], o)
				}})
			}
		}
	}
	return list
}

// resizes are the modes of Interpolate with all that can be combined with them.
func resizes() (list []function) {
	add := func(name, input string, o F.InterpolateOptions) {
		list = append(list, function{"interpolate " + name, func(i tensors) torch.Tensor { return F.Interpolate(i[input], o) }})
	}
	for i, input := range keys {
		n := i + 1
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
		add(mode+" smooth corners", "image",
			F.InterpolateOptions{Mode: mode, Antialias: true, ScaleFactor: []float64{0.5, 1.5}, AlignCorners: new(true)})
	}
	return list
}

func TestSpatial(t *testing.T) {
	equalsPython(t, "testdata/spatial.py", slices.Concat(spatial, pools(), pads(), grids(), resizes()))
}
