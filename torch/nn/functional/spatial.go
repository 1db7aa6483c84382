package functional

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// PadOptions are the rarer arguments of [Pad].
type PadOptions struct {
	Mode  string  // "constant", "reflect", "replicate" or "circular"; default "constant"
	Value float64 // what "constant" adds; default 0
}

// Pad adds elements around x. pad holds how many, before and after, for the last dimension,
// then for the one before it, and so on: {1, 1, 2, 0} is one column on both sides and two
// rows on top. Negative numbers cut off. "reflect", "replicate" and "circular" take their
// elements from x and pad the last dimensions of a batch: the last two of [N, C, H, W].
func Pad(x torch.Tensor, pad []int, opts ...PadOptions) torch.Tensor {
	v := option.One(opts)
	options := aten.PadOptions{Mode: v.Mode}
	if v.Value != 0 {
		options.Value = &v.Value
	}
	return aten.Pad(x, pad, options)
}

// PixelShuffle makes images factor times as large in both directions of factor² times as
// many channels: x [..., C*factor², H, W] becomes [..., C, H*factor, W*factor].
func PixelShuffle(x torch.Tensor, factor int) torch.Tensor { return aten.PixelShuffle(x, factor) }

// PixelUnshuffle reverses [PixelShuffle]: x [..., C, H*factor, W*factor] becomes
// [..., C*factor², H, W].
func PixelUnshuffle(x torch.Tensor, factor int) torch.Tensor {
	return aten.PixelUnshuffle(x, factor)
}

// ChannelShuffle deals the channels of x [N, C, ...] out: the first of each group, then the
// second of each, and so on.
func ChannelShuffle(x torch.Tensor, groups int) torch.Tensor { return aten.ChannelShuffle(x, groups) }

// UnfoldOptions are the rarer arguments of [Unfold] and [Fold].
type UnfoldOptions struct {
	Dilation Size // distance between a block's elements; default 1
	Padding  Size // zeros added on both sides; default 0
	Stride   Size // distance between blocks; default 1
}

func (v UnfoldOptions) spread(op string) (dilation, padding, stride []int) {
	return spreadOr(op+" dilation", v.Dilation, 2, []int{1, 1}), spreadOr(op+" padding", v.Padding, 2, []int{0, 0}),
		spreadOr(op+" stride", v.Stride, 2, []int{1, 1})
}

// Unfold writes every block of x [N, C, H, W] or [C, H, W], of the given size, as a column:
// [N, C*block, blocks].
func Unfold[S Size2d](x torch.Tensor, block S, opts ...UnfoldOptions) torch.Tensor {
	o := option.One(opts)
	dilation, padding, stride := o.spread("unfold")
	return aten.Im2Col(x, Spread("unfold block", block, 2), dilation, padding, stride)
}

// Fold adds up the columns that [Unfold] makes of an image of the given size: x
// [N, C*block, blocks] or [C*block, blocks] becomes [N, C, H, W] or [C, H, W].
func Fold[S, B Size2d](x torch.Tensor, size S, block B, opts ...UnfoldOptions) torch.Tensor {
	o := option.One(opts)
	dilation, padding, stride := o.spread("fold")
	return aten.Col2Im(x, Spread("fold size", size, 2), Spread("fold block", block, 2), dilation, padding, stride)
}

// GridSampleOptions are the rarer arguments of [GridSample].
type GridSampleOptions struct {
	Mode         string // between pixels: "bilinear", "nearest" or "bicubic"; default "bilinear"
	PaddingMode  string // outside of x: "zeros", "border" or "reflection"; default "zeros"
	AlignCorners bool   // -1 and 1 are the centres of the outermost pixels; default: their edges
}

// GridSample reads x [N, C, H, W] where grid [N, h, w, 2] says, in coordinates (across, down)
// that go from -1 to 1, into [N, C, h, w]. The same with a depth: x [N, C, D, H, W], grid
// [N, d, h, w, 3].
func GridSample(x, grid torch.Tensor, opts ...GridSampleOptions) torch.Tensor {
	const op = "grid_sample"
	v := option.One(opts)
	mode, ok := choose(v.Mode, "bilinear", "nearest", "bicubic")
	if !ok {
		torch.Throw(op, torch.KindValue,
			"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '%s'", v.Mode)
	}
	padding, ok := choose(v.PaddingMode, "zeros", "border", "reflection")
	if !ok {
		torch.Throw(op, torch.KindValue,
			"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '%s'", v.PaddingMode)
	}
	return aten.GridSampler(x, grid, mode, padding, v.AlignCorners)
}

// choose is the number of a word among those allowed, of which the first is the default.
func choose(word string, allowed ...string) (number int, ok bool) {
	if word == "" {
		return 0, true
	}
	number = slices.Index(allowed, word)
	return number, number >= 0
}

// AffineGridOptions are the rarer arguments of [AffineGrid].
type AffineGridOptions struct {
	AlignCorners bool // as in [GridSampleOptions]
}

// AffineGrid is the grid with which [GridSample] makes affine pictures: theta [N, 2, 3]
// holds a matrix for each, size is the result's, [N, C, H, W]. The same with a depth: theta
// [N, 3, 4], size [N, C, D, H, W].
func AffineGrid(theta torch.Tensor, size []int, opts ...AffineGridOptions) torch.Tensor {
	const op = "affine_grid"
	v := option.One(opts)
	if d := theta.DType(); !d.IsFloatingPoint() {
		torch.Throw(op, torch.KindValue, "Expected theta to have floating point type, but got torch.%v", d)
	}
	dims := len(size) - 2
	if dims != 2 && dims != 3 {
		torch.Throw(op, torch.KindNotImplemented,
			"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size %s.", pytext.List(size))
	}
	if shape := theta.Shape(); len(shape) != 3 || shape[1] != dims || shape[2] != dims+1 {
		torch.Throw(op, torch.KindValue, "Expected a batch of %dD affine matrices of shape Nx%dx%d for size %s. Got %s.", dims, dims,
			dims+1, pytext.List(size), pytext.Size(shape))
	}
	unit := v.AlignCorners && slices.Min(size[2:]) == 1
	if unit {
		torch.Warn("Since version 1.3.0, affine_grid behavior has changed " +
			"for unit-size grids when align_corners=True. " +
			"This is not an intended use case of affine_grid. " +
			"See the documentation of affine_grid for details.")
	}
	if slices.Min(size) <= 0 && !unit {
		torch.Throw(op, torch.KindValue, "Expected non-zero, positive output size. Got %s", pytext.List(size))
	}
	return aten.AffineGridGenerator(theta, size, v.AlignCorners)
}
