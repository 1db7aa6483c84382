package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// PixelShuffle makes images UpscaleFactor times as large of UpscaleFactor² times as many channels (Shi et
// al., 2016).
type PixelShuffle struct {
	UpscaleFactor int
}

// Forward maps [..., C*r², H, W] to [..., C, H*r, W*r], r being the factor.
func (p PixelShuffle) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor { return F.PixelShuffle(x, p.UpscaleFactor) })
}

// PixelUnshuffle reverses [PixelShuffle].
type PixelUnshuffle struct {
	DownscaleFactor int
}

// Forward maps [..., C, H*r, W*r] to [..., C*r², H, W], r being the factor.
func (p PixelUnshuffle) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor { return F.PixelUnshuffle(x, p.DownscaleFactor) })
}

// ChannelShuffle deals the channels of each group out to all groups (Zhang et al., 2017).
type ChannelShuffle struct {
	Groups int
}

// Forward keeps the shape, [N, C, ...].
func (c ChannelShuffle) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(c, x, func(x torch.Tensor) torch.Tensor { return F.ChannelShuffle(x, c.Groups) })
}

// Upsample resizes [N, C, L], [N, C, H, W] or [N, C, D, H, W]; its fields are the options of
// [F.Interpolate], one of Size and ScaleFactor is needed.
type Upsample F.InterpolateOptions

// Forward changes the sizes after the first two.
func (u Upsample) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(u, x, func(x torch.Tensor) torch.Tensor { return F.Interpolate(x, F.InterpolateOptions(u)) })
}

// UpsamplingNearest2d is [Upsample] in mode "nearest"; one of its fields is needed.
type UpsamplingNearest2d F.UpsampleOptions

// Forward maps [N, C, H, W] to [N, C, H', W'].
func (u UpsamplingNearest2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(u, x, func(x torch.Tensor) torch.Tensor {
		return F.Interpolate(x, F.InterpolateOptions{Size: u.Size, ScaleFactor: u.ScaleFactor})
	})
}

// UpsamplingBilinear2d is [Upsample] in mode "bilinear" with aligned corners; one of its
// fields is needed.
type UpsamplingBilinear2d F.UpsampleOptions

// Forward maps [N, C, H, W] to [N, C, H', W'].
func (u UpsamplingBilinear2d) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(u, x, func(x torch.Tensor) torch.Tensor {
		return F.Interpolate(x, F.InterpolateOptions{Size: u.Size, ScaleFactor: u.ScaleFactor, Mode: "bilinear", AlignCorners: new(true)})
	})
}

// UnfoldOptions are the rarer arguments of [Unfold] and [Fold].
type UnfoldOptions = F.UnfoldOptions

// Unfold writes every block of an image as a column.
type Unfold struct {
	KernelSize Size // of a block
	Options    UnfoldOptions
}

// Forward maps [N, C, H, W] to [N, C*block, blocks], or the same without N.
func (u Unfold) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(u, x, func(x torch.Tensor) torch.Tensor {
		return F.Unfold(x, F.Spread("unfold block", u.KernelSize, 2), u.Options)
	})
}

// Fold adds up the columns that [Unfold] makes of an image of that size.
type Fold struct {
	OutputSize Size // of the image
	KernelSize Size // of a block
	Options    UnfoldOptions
}

// Forward maps [N, C*block, blocks] to [N, C, H, W], or the same without N.
func (f Fold) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(f, x, func(x torch.Tensor) torch.Tensor {
		return F.Fold(x, F.Spread("fold size", f.OutputSize, 2), F.Spread("fold block", f.KernelSize, 2), f.Options)
	})
}

// Unflatten splits a dimension into several.
type Unflatten struct {
	Dim             int
	UnflattenedSize []int // one of which may be -1
}

// Forward returns a view.
func (u Unflatten) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(u, x, func(x torch.Tensor) torch.Tensor { return x.Unflatten(u.Dim, u.UnflattenedSize...) })
}

// CosineSimilarity is the cosine of the angle between vectors.
type CosineSimilarity struct {
	Dim *int     // along which they lie; default 1
	Eps *float64 // the least divisor; default 1e-8
}

// Forward maps two tensors, which are broadcast to each other, to one without Dim.
func (c CosineSimilarity) Forward(x1, x2 torch.Tensor) (y torch.Tensor) {
	HookedAll(c, refs{&x1, &x2}, refs{&y}, func() {
		y = F.CosineSimilarity(x1, x2, F.CosineSimilarityOptions{Dim: c.Dim, Eps: c.Eps})
	})
	return y
}

// PairwiseDistance is the norm of the difference of vectors.
type PairwiseDistance struct {
	P       *float64 // the norm; default 2
	Eps     *float64 // added to the differences; default 1e-6
	KeepDim bool
}

// Forward maps [N, D] and [N, D] to [N], or [D] and [D] to a number.
func (p PairwiseDistance) Forward(x1, x2 torch.Tensor) (y torch.Tensor) {
	HookedAll(p, refs{&x1, &x2}, refs{&y}, func() {
		y = F.PairwiseDistance(x1, x2, F.PairwiseDistanceOptions{P: p.P, Eps: p.Eps, KeepDim: p.KeepDim})
	})
	return y
}
