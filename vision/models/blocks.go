package models

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// norms makes the normalisation behind a convolution of that many channels.
type norms = func(channels int) nn.Layer

// or is what an option points at, or its default.
func or[T any](given *T, def T) T {
	if given != nil {
		return *given
	}
	return def
}

// normOr is the normalisation that was asked for, or batch norms with these settings.
func normOr(given norms, def nn.BatchNormOptions) norms {
	if given != nil {
		return given
	}
	return func(channels int) nn.Layer { return nn.NewBatchNorm2d(channels, def) }
}

// divisible rounds a number of channels to a multiple of the divisor, down by a tenth at most.
func divisible(channels float64, divisor int) int {
	rounded := max(divisor, int(channels+float64(divisor)/2)/divisor*divisor)
	if float64(rounded) < 0.9*channels {
		rounded += divisor
	}
	return rounded
}

// join puts channels side by side and closes what they were in.
func join(parts ...torch.Tensor) torch.Tensor {
	defer torch.Close(parts...)
	return torch.Cat(parts, 1)
}

// dropout is a dropout that overwrites its input.
func dropout(p float64) *nn.Dropout {
	d := nn.NewDropout(p)
	d.InPlace = true
	return d
}
