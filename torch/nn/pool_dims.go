package nn

import "github.com/libtorch-go/libtorch/internal/option"

// The poolings by their dimensions.
type (
	// MaxPool1d takes the largest value in every window over the last dimension.
	MaxPool1d struct{ MaxPool }
	// MaxPool2d takes the largest value in every window over the last two dimensions.
	MaxPool2d struct{ MaxPool }
	// MaxPool3d takes the largest value in every window over the last three dimensions.
	MaxPool3d struct{ MaxPool }

	// MaxUnpool1d puts the values of a [MaxPool1d] back where they were found.
	MaxUnpool1d struct{ MaxUnpool }
	// MaxUnpool2d puts the values of a [MaxPool2d] back where they were found.
	MaxUnpool2d struct{ MaxUnpool }
	// MaxUnpool3d puts the values of a [MaxPool3d] back where they were found.
	MaxUnpool3d struct{ MaxUnpool }

	// FractionalMaxPool2d takes maxima in random windows over the last two dimensions.
	FractionalMaxPool2d struct{ FractionalMaxPool }
	// FractionalMaxPool3d takes maxima in random windows over the last three dimensions.
	FractionalMaxPool3d struct{ FractionalMaxPool }

	// AvgPool1d takes the mean of every window over the last dimension.
	AvgPool1d struct{ AvgPool }
	// AvgPool2d takes the mean of every window over the last two dimensions.
	AvgPool2d struct{ AvgPool }
	// AvgPool3d takes the mean of every window over the last three dimensions.
	AvgPool3d struct{ AvgPool }

	// LPPool1d takes the P-norm of every window over the last dimension.
	LPPool1d struct{ LPPool }
	// LPPool2d takes the P-norm of every window over the last two dimensions.
	LPPool2d struct{ LPPool }
	// LPPool3d takes the P-norm of every window over the last three dimensions.
	LPPool3d struct{ LPPool }

	// AdaptiveMaxPool1d takes maxima over the last dimension down to a size.
	AdaptiveMaxPool1d struct{ AdaptiveMaxPool }
	// AdaptiveMaxPool2d takes maxima over the last two dimensions down to a size.
	AdaptiveMaxPool2d struct{ AdaptiveMaxPool }
	// AdaptiveMaxPool3d takes maxima over the last three dimensions down to a size.
	AdaptiveMaxPool3d struct{ AdaptiveMaxPool }

	// AdaptiveAvgPool1d averages over the last dimension down to a size.
	AdaptiveAvgPool1d struct{ AdaptiveAvgPool }
	// AdaptiveAvgPool2d averages over the last two dimensions down to a size.
	AdaptiveAvgPool2d struct{ AdaptiveAvgPool }
	// AdaptiveAvgPool3d averages over the last three dimensions down to a size.
	AdaptiveAvgPool3d struct{ AdaptiveAvgPool }
)

// NewMaxPool1d makes a layer with windows of that size.
func NewMaxPool1d[S Size1d](window S, opts ...MaxPoolOptions) *MaxPool1d {
	return &MaxPool1d{MaxPool{spreadFor("max_pool", 1, "window", window), option.One(opts)}}
}

// NewMaxPool2d makes a layer with windows of that size.
func NewMaxPool2d[S Size2d](window S, opts ...MaxPoolOptions) *MaxPool2d {
	return &MaxPool2d{MaxPool{spreadFor("max_pool", 2, "window", window), option.One(opts)}}
}

// NewMaxPool3d makes a layer with windows of that size.
func NewMaxPool3d[S Size3d](window S, opts ...MaxPoolOptions) *MaxPool3d {
	return &MaxPool3d{MaxPool{spreadFor("max_pool", 3, "window", window), option.One(opts)}}
}

// NewMaxUnpool1d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool1d[S Size1d](window S, opts ...MaxUnpoolOptions) *MaxUnpool1d {
	return &MaxUnpool1d{MaxUnpool{spreadFor("max_unpool", 1, "window", window), option.One(opts)}}
}

// NewMaxUnpool2d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool2d[S Size2d](window S, opts ...MaxUnpoolOptions) *MaxUnpool2d {
	return &MaxUnpool2d{MaxUnpool{spreadFor("max_unpool", 2, "window", window), option.One(opts)}}
}

// NewMaxUnpool3d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool3d[S Size3d](window S, opts ...MaxUnpoolOptions) *MaxUnpool3d {
	return &MaxUnpool3d{MaxUnpool{spreadFor("max_unpool", 3, "window", window), option.One(opts)}}
}

// NewFractionalMaxPool2d makes a layer with windows of that size.
func NewFractionalMaxPool2d[S Size2d](window S, opts ...FractionalMaxPoolOptions) *FractionalMaxPool2d {
	return &FractionalMaxPool2d{newFractional(2, window, option.One(opts))}
}

// NewFractionalMaxPool3d makes a layer with windows of that size.
func NewFractionalMaxPool3d[S Size3d](window S, opts ...FractionalMaxPoolOptions) *FractionalMaxPool3d {
	return &FractionalMaxPool3d{newFractional(3, window, option.One(opts))}
}

// NewAvgPool1d makes a layer with windows of that size.
func NewAvgPool1d[S Size1d](window S, opts ...AvgPoolOptions) *AvgPool1d {
	return &AvgPool1d{AvgPool{spreadFor("avg_pool", 1, "window", window), option.One(opts)}}
}

// NewAvgPool2d makes a layer with windows of that size.
func NewAvgPool2d[S Size2d](window S, opts ...AvgPoolOptions) *AvgPool2d {
	return &AvgPool2d{AvgPool{spreadFor("avg_pool", 2, "window", window), option.One(opts)}}
}

// NewAvgPool3d makes a layer with windows of that size.
func NewAvgPool3d[S Size3d](window S, opts ...AvgPoolOptions) *AvgPool3d {
	return &AvgPool3d{AvgPool{spreadFor("avg_pool", 3, "window", window), option.One(opts)}}
}

// NewLPPool1d makes a layer of the norm p with windows of that size.
func NewLPPool1d[S Size1d](p float64, window S, opts ...LPPoolOptions) *LPPool1d {
	return &LPPool1d{LPPool{p, spreadFor("lp_pool", 1, "window", window), option.One(opts)}}
}

// NewLPPool2d makes a layer of the norm p with windows of that size.
func NewLPPool2d[S Size2d](p float64, window S, opts ...LPPoolOptions) *LPPool2d {
	return &LPPool2d{LPPool{p, spreadFor("lp_pool", 2, "window", window), option.One(opts)}}
}

// NewLPPool3d makes a layer of the norm p with windows of that size.
func NewLPPool3d[S Size3d](p float64, window S, opts ...LPPoolOptions) *LPPool3d {
	return &LPPool3d{LPPool{p, spreadFor("lp_pool", 3, "window", window), option.One(opts)}}
}

// NewAdaptiveMaxPool1d makes a layer whose results have that size.
func NewAdaptiveMaxPool1d[S Size1d](size S) *AdaptiveMaxPool1d {
	return &AdaptiveMaxPool1d{AdaptiveMaxPool{spreadFor("adaptive_max_pool", 1, "size", size)}}
}

// NewAdaptiveMaxPool2d makes a layer whose results have that size.
func NewAdaptiveMaxPool2d[S Size2d](size S) *AdaptiveMaxPool2d {
	return &AdaptiveMaxPool2d{AdaptiveMaxPool{spreadFor("adaptive_max_pool", 2, "size", size)}}
}

// NewAdaptiveMaxPool3d makes a layer whose results have that size.
func NewAdaptiveMaxPool3d[S Size3d](size S) *AdaptiveMaxPool3d {
	return &AdaptiveMaxPool3d{AdaptiveMaxPool{spreadFor("adaptive_max_pool", 3, "size", size)}}
}

// NewAdaptiveAvgPool1d makes a layer whose results have that size.
func NewAdaptiveAvgPool1d[S Size1d](size S) *AdaptiveAvgPool1d {
	return &AdaptiveAvgPool1d{AdaptiveAvgPool{spreadFor("adaptive_avg_pool", 1, "size", size)}}
}

// NewAdaptiveAvgPool2d makes a layer whose results have that size.
func NewAdaptiveAvgPool2d[S Size2d](size S) *AdaptiveAvgPool2d {
	return &AdaptiveAvgPool2d{AdaptiveAvgPool{spreadFor("adaptive_avg_pool", 2, "size", size)}}
}

// NewAdaptiveAvgPool3d makes a layer whose results have that size.
func NewAdaptiveAvgPool3d[S Size3d](size S) *AdaptiveAvgPool3d {
	return &AdaptiveAvgPool3d{AdaptiveAvgPool{spreadFor("adaptive_avg_pool", 3, "size", size)}}
}
