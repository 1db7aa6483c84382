package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// AdaptiveMaxPool1d takes maxima down to a length.
type AdaptiveMaxPool1d struct {
	Size Size
}

// NewAdaptiveMaxPool1d makes a layer whose results have that length.
func NewAdaptiveMaxPool1d(size Size) *AdaptiveMaxPool1d {
	return &AdaptiveMaxPool1d{F.Spread("adaptive_max_pool1d size", size, 1)}
}

// Forward maps [N, C, L] to [N, C, L'], or the same without N.
func (p *AdaptiveMaxPool1d) Forward(x torch.Tensor) torch.Tensor {
	return F.AdaptiveMaxPool1d(x, p.Size)
}

// ForwardWithIndices is Forward and where each value was found, for [MaxUnpool1d].
func (p *AdaptiveMaxPool1d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.AdaptiveMaxPool1dWithIndices(x, p.Size)
}

// AdaptiveMaxPool2d takes maxima down to a height and width.
type AdaptiveMaxPool2d struct {
	Size Size
}

// NewAdaptiveMaxPool2d makes a layer whose results have that height and width.
func NewAdaptiveMaxPool2d(size Size) *AdaptiveMaxPool2d {
	return &AdaptiveMaxPool2d{F.Spread("adaptive_max_pool2d size", size, 2)}
}

// Forward maps [N, C, H, W] to [N, C, H', W'], or the same without N.
func (p *AdaptiveMaxPool2d) Forward(x torch.Tensor) torch.Tensor {
	return F.AdaptiveMaxPool2d(x, p.Size)
}

// ForwardWithIndices is Forward and where each value was found, for [MaxUnpool2d].
func (p *AdaptiveMaxPool2d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.AdaptiveMaxPool2dWithIndices(x, p.Size)
}

// AdaptiveMaxPool3d takes maxima down to a depth, height and width.
type AdaptiveMaxPool3d struct {
	Size Size
}

// NewAdaptiveMaxPool3d makes a layer whose results have that depth, height and width.
func NewAdaptiveMaxPool3d(size Size) *AdaptiveMaxPool3d {
	return &AdaptiveMaxPool3d{F.Spread("adaptive_max_pool3d size", size, 3)}
}

// Forward maps [N, C, D, H, W] to [N, C, D', H', W'], or the same without N.
func (p *AdaptiveMaxPool3d) Forward(x torch.Tensor) torch.Tensor {
	return F.AdaptiveMaxPool3d(x, p.Size)
}

// ForwardWithIndices is Forward and where each value was found, for [MaxUnpool3d].
func (p *AdaptiveMaxPool3d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.AdaptiveMaxPool3dWithIndices(x, p.Size)
}

// MaxUnpoolOptions are the rarer arguments of the max unpoolings: those of the pooling.
type MaxUnpoolOptions = F.MaxUnpoolOptions

// MaxUnpool1d puts the values of a [MaxPool1d] back where they were found, and zeros elsewhere.
type MaxUnpool1d struct {
	Window  Size
	Options MaxUnpoolOptions
}

// NewMaxUnpool1d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool1d(window Size, o *MaxUnpoolOptions) *MaxUnpool1d {
	return &MaxUnpool1d{F.Spread("max_unpool1d window", window, 1), options(o)}
}

// Forward maps values [N, C, L'] and the indices of the same shape to
// [N, C, L], or the same without N.
func (p *MaxUnpool1d) Forward(x, indices torch.Tensor) torch.Tensor {
	return F.MaxUnpool1d(x, indices, p.Window, &p.Options)
}

// MaxUnpool2d puts the values of a [MaxPool2d] back where they were found, and zeros elsewhere.
type MaxUnpool2d struct {
	Window  Size
	Options MaxUnpoolOptions
}

// NewMaxUnpool2d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool2d(window Size, o *MaxUnpoolOptions) *MaxUnpool2d {
	return &MaxUnpool2d{F.Spread("max_unpool2d window", window, 2), options(o)}
}

// Forward maps values [N, C, H', W'] and the indices of the same shape to
// [N, C, H, W], or the same without N.
func (p *MaxUnpool2d) Forward(x, indices torch.Tensor) torch.Tensor {
	return F.MaxUnpool2d(x, indices, p.Window, &p.Options)
}

// MaxUnpool3d puts the values of a [MaxPool3d] back where they were found, and zeros elsewhere.
type MaxUnpool3d struct {
	Window  Size
	Options MaxUnpoolOptions
}

// NewMaxUnpool3d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool3d(window Size, o *MaxUnpoolOptions) *MaxUnpool3d {
	return &MaxUnpool3d{F.Spread("max_unpool3d window", window, 3), options(o)}
}

// Forward maps values [N, C, D', H', W'] and the indices of the same shape to
// [N, C, D, H, W], or the same without N.
func (p *MaxUnpool3d) Forward(x, indices torch.Tensor) torch.Tensor {
	return F.MaxUnpool3d(x, indices, p.Window, &p.Options)
}

// FractionalMaxPoolOptions say how large the result of a fractional max pooling is: one of
// OutputSize and OutputRatio is needed.
type FractionalMaxPoolOptions = F.FractionalMaxPoolOptions

// FractionalMaxPool2d takes maxima in windows that are placed at random (Graham, 2014), in evaluation
// too unless the options hold random samples.
type FractionalMaxPool2d struct {
	Window  Size
	Options FractionalMaxPoolOptions `torch:"-"`
}

// NewFractionalMaxPool2d makes a layer with windows of that size.
func NewFractionalMaxPool2d(window Size, o *FractionalMaxPoolOptions) *FractionalMaxPool2d {
	return &FractionalMaxPool2d{F.Spread("fractional_max_pool2d window", window, 2), options(o)}
}

// Forward maps [N, C, H, W] to [N, C, H', W'], or the same without N.
func (p *FractionalMaxPool2d) Forward(x torch.Tensor) torch.Tensor {
	return F.FractionalMaxPool2d(x, p.Window, &p.Options)
}

// ForwardWithIndices is Forward and where each value was found, for [MaxUnpool2d].
func (p *FractionalMaxPool2d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.FractionalMaxPool2dWithIndices(x, p.Window, &p.Options)
}

// FractionalMaxPool3d takes maxima in windows that are placed at random (Graham, 2014), in evaluation
// too unless the options hold random samples.
type FractionalMaxPool3d struct {
	Window  Size
	Options FractionalMaxPoolOptions `torch:"-"`
}

// NewFractionalMaxPool3d makes a layer with windows of that size.
func NewFractionalMaxPool3d(window Size, o *FractionalMaxPoolOptions) *FractionalMaxPool3d {
	return &FractionalMaxPool3d{F.Spread("fractional_max_pool3d window", window, 3), options(o)}
}

// Forward maps [N, C, D, H, W] to [N, C, D', H', W'], or the same without N.
func (p *FractionalMaxPool3d) Forward(x torch.Tensor) torch.Tensor {
	return F.FractionalMaxPool3d(x, p.Window, &p.Options)
}

// ForwardWithIndices is Forward and where each value was found.
func (p *FractionalMaxPool3d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.FractionalMaxPool3dWithIndices(x, p.Window, &p.Options)
}

// LPPoolOptions are the rarer arguments of the power-average poolings.
type LPPoolOptions = F.LPPoolOptions

// LPPool1d takes the P-norm of every window: the sum for 1, towards the maximum for ∞.
type LPPool1d struct {
	P       float64
	Window  Size
	Options LPPoolOptions
}

// NewLPPool1d makes a layer of the norm p with windows of that size.
func NewLPPool1d(p float64, window Size, o *LPPoolOptions) *LPPool1d {
	return &LPPool1d{p, F.Spread("lp_pool1d window", window, 1), options(o)}
}

// Forward maps [N, C, L] to [N, C, L'], or the same without N.
func (l *LPPool1d) Forward(x torch.Tensor) torch.Tensor {
	return F.LPPool1d(x, l.P, l.Window, &l.Options)
}

// LPPool2d takes the P-norm of every window: the sum for 1, towards the maximum for ∞.
type LPPool2d struct {
	P       float64
	Window  Size
	Options LPPoolOptions
}

// NewLPPool2d makes a layer of the norm p with windows of that size.
func NewLPPool2d(p float64, window Size, o *LPPoolOptions) *LPPool2d {
	return &LPPool2d{p, F.Spread("lp_pool2d window", window, 2), options(o)}
}

// Forward maps [N, C, H, W] to [N, C, H', W'], or the same without N.
func (l *LPPool2d) Forward(x torch.Tensor) torch.Tensor {
	return F.LPPool2d(x, l.P, l.Window, &l.Options)
}

// LPPool3d takes the P-norm of every window: the sum for 1, towards the maximum for ∞.
type LPPool3d struct {
	P       float64
	Window  Size
	Options LPPoolOptions
}

// NewLPPool3d makes a layer of the norm p with windows of that size.
func NewLPPool3d(p float64, window Size, o *LPPoolOptions) *LPPool3d {
	return &LPPool3d{p, F.Spread("lp_pool3d window", window, 3), options(o)}
}

// Forward maps [N, C, D, H, W] to [N, C, D', H', W'], or the same without N.
func (l *LPPool3d) Forward(x torch.Tensor) torch.Tensor {
	return F.LPPool3d(x, l.P, l.Window, &l.Options)
}
