package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// MaxPool1d takes the largest value in every window.
type MaxPool1d struct {
	Window  Size
	Options MaxPoolOptions
}

// NewMaxPool1d makes a layer with windows of that size.
func NewMaxPool1d(window Size, o *MaxPoolOptions) *MaxPool1d {
	return &MaxPool1d{F.Spread("max_pool1d window", window, 1), options(o)}
}

// Forward maps [N, C, L] to [N, C, L'], or the same without N.
func (p *MaxPool1d) Forward(x torch.Tensor) torch.Tensor {
	return F.MaxPool1d(x, p.Window, &p.Options)
}

// MaxPool3d takes the largest value in every window.
type MaxPool3d struct {
	Window  Size
	Options MaxPoolOptions
}

// NewMaxPool3d makes a layer with windows of that size.
func NewMaxPool3d(window Size, o *MaxPoolOptions) *MaxPool3d {
	return &MaxPool3d{F.Spread("max_pool3d window", window, 3), options(o)}
}

// Forward maps [N, C, D, H, W] to [N, C, D', H', W'], or the same without N.
func (p *MaxPool3d) Forward(x torch.Tensor) torch.Tensor {
	return F.MaxPool3d(x, p.Window, &p.Options)
}

// ForwardWithIndices is Forward and where each value was found, for [MaxUnpool1d].
func (p *MaxPool1d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.MaxPool1dWithIndices(x, p.Window, &p.Options)
}

// ForwardWithIndices is Forward and where each value was found, for [MaxUnpool2d].
func (p *MaxPool2d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.MaxPool2dWithIndices(x, p.Window, &p.Options)
}

// ForwardWithIndices is Forward and where each value was found, for [MaxUnpool3d].
func (p *MaxPool3d) ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor) {
	return F.MaxPool3dWithIndices(x, p.Window, &p.Options)
}

// AvgPool1d takes the mean of every window.
type AvgPool1d struct {
	Window  Size
	Options AvgPoolOptions
}

// NewAvgPool1d makes a layer with windows of that size.
func NewAvgPool1d(window Size, o *AvgPoolOptions) *AvgPool1d {
	return &AvgPool1d{F.Spread("avg_pool1d window", window, 1), options(o)}
}

// Forward maps [N, C, L] to [N, C, L'], or the same without N.
func (p *AvgPool1d) Forward(x torch.Tensor) torch.Tensor {
	return F.AvgPool1d(x, p.Window, &p.Options)
}

// AvgPool3d takes the mean of every window.
type AvgPool3d struct {
	Window  Size
	Options AvgPoolOptions
}

// NewAvgPool3d makes a layer with windows of that size.
func NewAvgPool3d(window Size, o *AvgPoolOptions) *AvgPool3d {
	return &AvgPool3d{F.Spread("avg_pool3d window", window, 3), options(o)}
}

// Forward maps [N, C, D, H, W] to [N, C, D', H', W'], or the same without N.
func (p *AvgPool3d) Forward(x torch.Tensor) torch.Tensor {
	return F.AvgPool3d(x, p.Window, &p.Options)
}

// AdaptiveAvgPool1d averages down to a length.
type AdaptiveAvgPool1d struct {
	Size Size
}

// NewAdaptiveAvgPool1d makes a layer whose results have that length.
func NewAdaptiveAvgPool1d(size Size) *AdaptiveAvgPool1d {
	return &AdaptiveAvgPool1d{F.Spread("adaptive_avg_pool1d size", size, 1)}
}

// Forward maps [N, C, L] to [N, C, L'], or the same without N.
func (a *AdaptiveAvgPool1d) Forward(x torch.Tensor) torch.Tensor {
	return F.AdaptiveAvgPool1d(x, a.Size)
}

// AdaptiveAvgPool3d averages down to a depth, height and width.
type AdaptiveAvgPool3d struct {
	Size Size
}

// NewAdaptiveAvgPool3d makes a layer whose results have that depth, height and width.
func NewAdaptiveAvgPool3d(size Size) *AdaptiveAvgPool3d {
	return &AdaptiveAvgPool3d{F.Spread("adaptive_avg_pool3d size", size, 3)}
}

// Forward maps [N, C, D, H, W] to [N, C, D', H', W'], or the same without N.
func (a *AdaptiveAvgPool3d) Forward(x torch.Tensor) torch.Tensor {
	return F.AdaptiveAvgPool3d(x, a.Size)
}
