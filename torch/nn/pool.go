package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// The poolings take the options of their functions.
type (
	MaxPoolOptions = F.MaxPoolOptions
	AvgPoolOptions = F.AvgPoolOptions
)

// MaxPool2d takes the largest value in every window.
type MaxPool2d struct {
	Window  Size
	Options MaxPoolOptions
}

// NewMaxPool2d makes a layer with windows of that size.
func NewMaxPool2d(window Size, o *MaxPoolOptions) *MaxPool2d {
	return &MaxPool2d{F.Spread("max_pool2d window", window, 2), options(o)}
}

// Forward maps [N, C, H, W] to [N, C, H', W'].
func (m *MaxPool2d) Forward(x torch.Tensor) torch.Tensor {
	return F.MaxPool2d(x, m.Window, &m.Options)
}

// AvgPool2d takes the mean of every window.
type AvgPool2d struct {
	Window  Size
	Options AvgPoolOptions
}

// NewAvgPool2d makes a layer with windows of that size.
func NewAvgPool2d(window Size, o *AvgPoolOptions) *AvgPool2d {
	return &AvgPool2d{F.Spread("avg_pool2d window", window, 2), options(o)}
}

// Forward maps [N, C, H, W] to [N, C, H', W'].
func (a *AvgPool2d) Forward(x torch.Tensor) torch.Tensor {
	return F.AvgPool2d(x, a.Window, &a.Options)
}

// AdaptiveAvgPool2d averages down to a height and width.
type AdaptiveAvgPool2d struct {
	Size Size
}

// NewAdaptiveAvgPool2d makes a layer whose results have that height and width.
func NewAdaptiveAvgPool2d(size Size) *AdaptiveAvgPool2d {
	return &AdaptiveAvgPool2d{F.Spread("adaptive_avg_pool2d size", size, 2)}
}

// Forward maps [N, C, H, W] to [N, C, H', W'].
func (a *AdaptiveAvgPool2d) Forward(x torch.Tensor) torch.Tensor {
	return F.AdaptiveAvgPool2d(x, a.Size)
}
