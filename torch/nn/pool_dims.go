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

// The constructors of all dimensions are the same but for the number.

func newMaxPool(dims int, window Size, opts []MaxPoolOptions) MaxPool {
	return MaxPool{spreadFor("max_pool", dims, "window", window), option.One(opts), spell(window)}
}

func newMaxUnpool(dims int, window Size, opts []MaxUnpoolOptions) MaxUnpool {
	return MaxUnpool{spreadFor("max_unpool", dims, "window", window), option.One(opts), ""}
}

func newAvgPool(dims int, window Size, opts []AvgPoolOptions) AvgPool {
	return AvgPool{spreadFor("avg_pool", dims, "window", window), option.One(opts), spell(window)}
}

func newLPPool(dims int, p float64, window Size, opts []LPPoolOptions) LPPool {
	return LPPool{p, spreadFor("lp_pool", dims, "window", window), option.One(opts), spell(window)}
}

func newAdaptiveMaxPool(dims int, size Size) AdaptiveMaxPool {
	return AdaptiveMaxPool{spreadFor("adaptive_max_pool", dims, "size", size), spell(size)}
}

func newAdaptiveAvgPool(dims int, size Size) AdaptiveAvgPool {
	return AdaptiveAvgPool{spreadFor("adaptive_avg_pool", dims, "size", size), spell(size)}
}

// NewMaxPool1d makes a layer with windows of that size.
func NewMaxPool1d[S Size1d](window S, opts ...MaxPoolOptions) *MaxPool1d {
	return &MaxPool1d{newMaxPool(1, window, opts)}
}

// NewMaxPool2d makes a layer with windows of that size.
func NewMaxPool2d[S Size2d](window S, opts ...MaxPoolOptions) *MaxPool2d {
	return &MaxPool2d{newMaxPool(2, window, opts)}
}

// NewMaxPool3d makes a layer with windows of that size.
func NewMaxPool3d[S Size3d](window S, opts ...MaxPoolOptions) *MaxPool3d {
	return &MaxPool3d{newMaxPool(3, window, opts)}
}

// NewMaxUnpool1d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool1d[S Size1d](window S, opts ...MaxUnpoolOptions) *MaxUnpool1d {
	return &MaxUnpool1d{newMaxUnpool(1, window, opts)}
}

// NewMaxUnpool2d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool2d[S Size2d](window S, opts ...MaxUnpoolOptions) *MaxUnpool2d {
	return &MaxUnpool2d{newMaxUnpool(2, window, opts)}
}

// NewMaxUnpool3d makes a layer that reverses a pooling with windows of that size.
func NewMaxUnpool3d[S Size3d](window S, opts ...MaxUnpoolOptions) *MaxUnpool3d {
	return &MaxUnpool3d{newMaxUnpool(3, window, opts)}
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
	return &AvgPool1d{newAvgPool(1, window, opts)}
}

// NewAvgPool2d makes a layer with windows of that size.
func NewAvgPool2d[S Size2d](window S, opts ...AvgPoolOptions) *AvgPool2d {
	return &AvgPool2d{newAvgPool(2, window, opts)}
}

// NewAvgPool3d makes a layer with windows of that size.
func NewAvgPool3d[S Size3d](window S, opts ...AvgPoolOptions) *AvgPool3d {
	return &AvgPool3d{newAvgPool(3, window, opts)}
}

// NewLPPool1d makes a layer of the norm p with windows of that size.
func NewLPPool1d[S Size1d](p float64, window S, opts ...LPPoolOptions) *LPPool1d {
	return &LPPool1d{newLPPool(1, p, window, opts)}
}

// NewLPPool2d makes a layer of the norm p with windows of that size.
func NewLPPool2d[S Size2d](p float64, window S, opts ...LPPoolOptions) *LPPool2d {
	return &LPPool2d{newLPPool(2, p, window, opts)}
}

// NewLPPool3d makes a layer of the norm p with windows of that size.
func NewLPPool3d[S Size3d](p float64, window S, opts ...LPPoolOptions) *LPPool3d {
	return &LPPool3d{newLPPool(3, p, window, opts)}
}

// NewAdaptiveMaxPool1d makes a layer whose results have that size.
func NewAdaptiveMaxPool1d[S Size1d](size S) *AdaptiveMaxPool1d {
	return &AdaptiveMaxPool1d{newAdaptiveMaxPool(1, size)}
}

// NewAdaptiveMaxPool2d makes a layer whose results have that size.
func NewAdaptiveMaxPool2d[S Size2d](size S) *AdaptiveMaxPool2d {
	return &AdaptiveMaxPool2d{newAdaptiveMaxPool(2, size)}
}

// NewAdaptiveMaxPool3d makes a layer whose results have that size.
func NewAdaptiveMaxPool3d[S Size3d](size S) *AdaptiveMaxPool3d {
	return &AdaptiveMaxPool3d{newAdaptiveMaxPool(3, size)}
}

// NewAdaptiveAvgPool1d makes a layer whose results have that size.
func NewAdaptiveAvgPool1d[S Size1d](size S) *AdaptiveAvgPool1d {
	return &AdaptiveAvgPool1d{newAdaptiveAvgPool(1, size)}
}

// NewAdaptiveAvgPool2d makes a layer whose results have that size.
func NewAdaptiveAvgPool2d[S Size2d](size S) *AdaptiveAvgPool2d {
	return &AdaptiveAvgPool2d{newAdaptiveAvgPool(2, size)}
}

// NewAdaptiveAvgPool3d makes a layer whose results have that size.
func NewAdaptiveAvgPool3d[S Size3d](size S) *AdaptiveAvgPool3d {
	return &AdaptiveAvgPool3d{newAdaptiveAvgPool(3, size)}
}
