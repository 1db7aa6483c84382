package nn

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// The poolings take the options of their functions.
type (
	MaxPoolOptions           = F.MaxPoolOptions
	MaxUnpoolOptions         = F.MaxUnpoolOptions
	FractionalMaxPoolOptions = F.FractionalMaxPoolOptions
	AvgPoolOptions           = F.AvgPoolOptions
	LPPoolOptions            = F.LPPoolOptions
)

// MaxPool is what the max poolings of all dimensions are: it takes the largest value in every
// window.
type MaxPool struct {
	Window  []int // one for each dimension
	Options MaxPoolOptions

	spelled // the window
}

// MaxUnpool is what the max unpoolings of all dimensions are: it puts the values of a [MaxPool]
// back where they were found, and zeros elsewhere.
type MaxUnpool struct {
	Window  []int // one for each dimension
	Options MaxUnpoolOptions

	spelled // the window
}

// FractionalMaxPool is what the fractional max poolings are: it takes maxima in windows that
// are placed at random (Graham, 2014), in evaluation too unless the options hold random samples.
type FractionalMaxPool struct {
	Window        []int                    // one for each dimension
	Options       FractionalMaxPoolOptions `torch:"-"`                      // but for the samples
	RandomSamples torch.Tensor             `torch:"_random_samples,buffer"` // where the windows lie, or undefined
}

// AvgPool is what the average poolings of all dimensions are: it takes the mean of every window.
type AvgPool struct {
	Window  []int // one for each dimension
	Options AvgPoolOptions

	spelled // the window
}

// LPPool is what the power-average poolings of all dimensions are: it takes the P-norm of every
// window, the sum for 1, towards the maximum for ∞.
type LPPool struct {
	P       float64
	Window  []int // one for each dimension
	Options LPPoolOptions

	spelled // the window
}

// AdaptiveMaxPool is what the adaptive max poolings of all dimensions are: it takes maxima down
// to a size.
type AdaptiveMaxPool struct {
	Size []int // one for each dimension

	spelled // the size
}

// AdaptiveAvgPool is what the adaptive average poolings of all dimensions are: it averages down
// to a size.
type AdaptiveAvgPool struct {
	Size []int // one for each dimension

	spelled // the size
}

// spreadFor writes a window or a size of a pooling out for its dimensions.
func spreadFor(pool string, dims int, what string, s Size) []int {
	return F.Spread(fmt.Sprintf("%s%dd %s", pool, dims, what), s, dims)
}

// byDims picks a function by the number of dimensions that there are sizes for.
func byDims[T any](sizes []int, one, two, three T) T {
	if n := len(sizes); n == 0 || n > 3 {
		torch.Throw("pool", torch.KindValue, "expected sizes of 1, 2 or 3 dimensions, got %v", sizes)
	}
	return []T{one, two, three}[len(sizes)-1]
}

// Forward maps [N, C, L], [N, C, H, W] or [N, C, D, H, W] to other sizes after C, or the same
// without N.
func (p *MaxPool) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor {
		return byDims(p.Window, F.MaxPool1d[[]int], F.MaxPool2d[[]int], F.MaxPool3d[[]int])(x, p.Window, p.Options)
	})
}

// ForwardWithIndices is Forward and where each value was found, for a [MaxUnpool].
func (p *MaxPool) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	HookedAll(p, refs{&x}, refs{&values, &indices}, func() {
		values, indices = byDims(p.Window, F.MaxPool1dWithIndices[[]int], F.MaxPool2dWithIndices[[]int], F.MaxPool3dWithIndices[[]int])(x,
			p.Window, p.Options)
	})
	return values, indices
}

// Forward maps values and their indices, of the same shape, to the shape that was pooled.
func (p *MaxUnpool) Forward(x, indices torch.Tensor) (y torch.Tensor) {
	HookedAll(p, refs{&x, &indices}, refs{&y}, func() {
		y = byDims(p.Window, F.MaxUnpool1d[[]int], F.MaxUnpool2d[[]int], F.MaxUnpool3d[[]int])(x, indices, p.Window, p.Options)
	})
	return y
}

// newFractional makes a layer for that many dimensions.
func newFractional(dims int, window Size, v FractionalMaxPoolOptions) FractionalMaxPool {
	samples := v.RandomSamples
	v.RandomSamples = torch.Tensor{}
	return FractionalMaxPool{spreadFor("fractional_max_pool", dims, "window", window), v, samples}
}

// all are the options with the samples.
func (p *FractionalMaxPool) all() FractionalMaxPoolOptions {
	o := p.Options
	o.RandomSamples = p.RandomSamples
	return o
}

// Forward maps [N, C, H, W] or [N, C, D, H, W] to other sizes after C, or the same without N.
func (p *FractionalMaxPool) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor {
		return byDims(p.Window, nil, F.FractionalMaxPool2d[[]int], F.FractionalMaxPool3d[[]int])(x, p.Window, p.all())
	})
}

// ForwardWithIndices is Forward and where each value was found.
func (p *FractionalMaxPool) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	HookedAll(p, refs{&x}, refs{&values, &indices}, func() {
		values, indices = byDims(p.Window, nil, F.FractionalMaxPool2dWithIndices[[]int], F.FractionalMaxPool3dWithIndices[[]int])(x,
			p.Window, p.all())
	})
	return values, indices
}

// Forward maps [N, C, L], [N, C, H, W] or [N, C, D, H, W] to other sizes after C, or the same
// without N.
func (p *AvgPool) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor {
		return byDims(p.Window, F.AvgPool1d[[]int], F.AvgPool2d[[]int], F.AvgPool3d[[]int])(x, p.Window, p.Options)
	})
}

// Forward maps [N, C, L], [N, C, H, W] or [N, C, D, H, W] to other sizes after C, or the same
// without N.
func (p *LPPool) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor {
		return byDims(p.Window, F.LPPool1d[[]int], F.LPPool2d[[]int], F.LPPool3d[[]int])(x, p.P, p.Window, p.Options)
	})
}

// Forward maps [N, C, ...] to [N, C, Size...], or the same without N.
func (p *AdaptiveMaxPool) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor {
		return byDims(p.Size, F.AdaptiveMaxPool1d[[]int], F.AdaptiveMaxPool2d[[]int], F.AdaptiveMaxPool3d[[]int])(x, p.Size)
	})
}

// ForwardWithIndices is Forward and where each value was found, for a [MaxUnpool].
func (p *AdaptiveMaxPool) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	HookedAll(p, refs{&x}, refs{&values, &indices}, func() {
		values, indices = byDims(p.Size, F.AdaptiveMaxPool1dWithIndices[[]int], F.AdaptiveMaxPool2dWithIndices[[]int],
			F.AdaptiveMaxPool3dWithIndices[[]int])(x, p.Size)
	})
	return values, indices
}

// Forward maps [N, C, ...] to [N, C, Size...], or the same without N.
func (p *AdaptiveAvgPool) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor {
		return byDims(p.Size, F.AdaptiveAvgPool1d[[]int], F.AdaptiveAvgPool2d[[]int], F.AdaptiveAvgPool3d[[]int])(x, p.Size)
	})
}
