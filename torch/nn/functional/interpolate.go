package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// InterpolateOptions say how large the result of [Interpolate] is, and how it is made: one
// of Size and ScaleFactor is needed.
type InterpolateOptions struct {
	Size        Size   // of the result
	ScaleFactor Factor // of the result's size to the input's
	Mode        string // default "nearest"
	// the centres of the outermost pixels stay; not for "nearest", "nearest-exact", "area"; default: their edges do
	AlignCorners         *bool
	RecomputeScaleFactor bool // sample by the ratio of the sizes, not by ScaleFactor, from which rounding sets it apart
	Antialias            bool // smooth while making smaller; for "bilinear" and "bicubic"
}

// Interpolate resizes x [N, C, L], [N, C, H, W] or [N, C, D, H, W]. The modes are "nearest",
// "nearest-exact" (rounds as other libraries do) and "area" for all three, "linear" for the
// first, "bilinear" and "bicubic" for the second, "trilinear" for the third.
func Interpolate(x torch.Tensor, opts ...InterpolateOptions) torch.Tensor {
	const op = "interpolate"
	v := option.One(opts)
	if v.Mode == "" {
		v.Mode = "nearest"
	}
	dims := x.Dim() - 2
	size, factors := v.resolve(x, dims)
	corners := v.AlignCorners != nil && *v.AlignCorners
	if dims >= 1 && dims <= 3 {
		switch v.Mode {
		case "nearest":
			return [...]plainResize{aten.UpsampleNearest1dVec, aten.UpsampleNearest2dVec, aten.UpsampleNearest3dVec}[dims-1](x, size, factors)
		case "nearest-exact":
			return [...]plainResize{aten.UpsampleNearestExact1dVec, aten.UpsampleNearestExact2dVec, aten.UpsampleNearestExact3dVec}[dims-
				1](x, size, factors)
		case "area":
			return [...]func(torch.Tensor, ...int) torch.Tensor{aten.AdaptiveAvgPool1d, aten.AdaptiveAvgPool2d, aten.AdaptiveAvgPool3d}[dims-
				1](x, size...)
		}
	}
	switch mode, wanted := v.smooth(); {
	case mode != nil && wanted == dims:
		return mode(x, size, corners, factors)
	case mode != nil && v.Mode != "bicubic" && dims >= 1 && dims <= 3:
		torch.Throw(op, torch.KindNotImplemented, "Got %dD input, but %s mode needs %dD input", dims+2, v.Mode, wanted+2)
	}
	torch.Throw(op, torch.KindNotImplemented,
		"Input Error: Only 3D, 4D and 5D input Tensors supported (got %dD) for the modes: nearest | linear | bilinear | bicubic | "+
			"trilinear | area | nearest-exact (got %s)", dims+2, v.Mode)
	return x
}

type (
	plainResize  = func(x torch.Tensor, size []int, factors []float64) torch.Tensor
	smoothResize = func(x torch.Tensor, size []int, alignCorners bool, factors []float64) torch.Tensor
)

// smooth returns the function of a mode that mixes pixels, and its number of spatial
// dimensions.
func (o *InterpolateOptions) smooth() (resize smoothResize, dims int) {
	switch o.Mode {
	case "linear":
		return aten.UpsampleLinear1dVec, 1
	case "bilinear":
		if o.Antialias {
			return aten.UpsampleBilinear2dAAVec, 2
		}
		return aten.UpsampleBilinear2dVec, 2
	case "bicubic":
		if o.Antialias {
			return aten.UpsampleBicubic2dAAVec, 2
		}
		return aten.UpsampleBicubic2dVec, 2
	case "trilinear":
		return aten.UpsampleTrilinear3dVec, 3
	}
	return nil, 0
}

// resolve checks the options and returns the result's size or its factors, whichever
// the operators should use.
func (o *InterpolateOptions) resolve(x torch.Tensor, dims int) (size []int, factors []float64) {
	const op = "interpolate"
	refuse := func(format string, args ...any) { torch.Throw(op, torch.KindValue, format, args...) }
	if o.AlignCorners != nil && slices.Contains([]string{"nearest", "nearest-exact", "area"}, o.Mode) {
		refuse("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
	}
	shape := x.Shape()
	spatial := shape[min(2, len(shape)):]
	switch {
	case o.Size != nil && o.ScaleFactor != nil:
		refuse("only one of size or scale_factor should be defined")
	case o.Size != nil:
		if list, each := o.Size.([]int); each && len(list) != dims {
			refuse("Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of %s and "+
				"output size of %s. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.",
				pytext.List(spatial), pytext.List(list))
		}
		size = Spread(op+" size", o.Size, max(dims, 0))
	case o.ScaleFactor != nil:
		if list, each := o.ScaleFactor.([]float64); each && len(list) != dims {
			refuse("Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "+
				"%s and scale_factor of shape %s. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, "+
				"s2, ...,sK) format.", pytext.List(spatial), pytext.Floats(list))
		}
		factors = spreadFactor(op+" scale factor", o.ScaleFactor, max(dims, 0))
	default:
		refuse("either size or scale_factor should be defined")
	}
	if o.RecomputeScaleFactor && o.Size != nil {
		refuse("recompute_scale_factor is not meaningful with an explicit size.")
	}
	if o.Size == nil && (o.RecomputeScaleFactor || o.Mode == "area") {
		size, factors = scaled(spatial, factors), nil
	}
	if o.Antialias && (o.Mode != "bilinear" && o.Mode != "bicubic" || dims != 2) {
		refuse("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
	}
	return size, factors
}

// outdated warns of a function that PyTorch keeps under its old name.
func outdated(name string) {
	torch.Warn("`nn.functional.%s` is deprecated. Use `nn.functional.interpolate` instead.", name)
}

// Upsample is [Interpolate], by the name it had before. It warns, as PyTorch does.
func Upsample(x torch.Tensor, opts ...InterpolateOptions) torch.Tensor {
	outdated("upsample")
	return Interpolate(x, opts...)
}

// UpsampleOptions say how large the result of [UpsampleNearest] and [UpsampleBilinear] is.
type UpsampleOptions struct {
	Size        Size   // of the result; this or ScaleFactor is needed
	ScaleFactor Factor // of the result's size to the input's
}

// UpsampleNearest is [Interpolate] in mode "nearest". It warns, as PyTorch does.
func UpsampleNearest(x torch.Tensor, opts ...UpsampleOptions) torch.Tensor {
	outdated("upsample_nearest")
	v := option.One(opts)
	return Interpolate(x, InterpolateOptions{Size: v.Size, ScaleFactor: v.ScaleFactor})
}

// UpsampleBilinear is [Interpolate] in mode "bilinear" with aligned corners. It warns, as
// PyTorch does.
func UpsampleBilinear(x torch.Tensor, opts ...UpsampleOptions) torch.Tensor {
	outdated("upsample_bilinear")
	v := option.One(opts)
	return Interpolate(x, InterpolateOptions{Size: v.Size, ScaleFactor: v.ScaleFactor, Mode: "bilinear", AlignCorners: new(true)})
}
