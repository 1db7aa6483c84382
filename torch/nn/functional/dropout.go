package functional

import (
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// Dropout zeroes elements of x with probability p and scales the others by 1/(1-p) where
// training; otherwise the result is x itself, under another handle. PyTorch's default p
// is 0.5.
func Dropout(x torch.Tensor, p float64, training bool) torch.Tensor {
	return aten.Dropout(x, probability("dropout", p), training)
}

// AlphaDropout is [Dropout] for activations from [SELU]: it keeps their mean and variance.
func AlphaDropout(x torch.Tensor, p float64, training bool) torch.Tensor {
	return aten.AlphaDropout(x, probability("alpha_dropout", p), training)
}

// Dropout1d zeroes whole channels of x [N, C, L] or [C, L] as [Dropout] zeroes elements.
func Dropout1d(x torch.Tensor, p float64, training bool) torch.Tensor {
	probability("dropout1d", p)
	n := x.Dim()
	if n != 2 && n != 3 {
		torch.Throw("dropout1d", torch.KindGeneric,
			"dropout1d: Expected 2D or 3D input, but received a %dD input. Note that dropout1d exists to provide channel-wise dropout "+
				"on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).", n)
	}
	return dropChannels(x, p, training, n == 3)
}

// Dropout2d zeroes whole channels of x [N, C, H, W] as [Dropout] zeroes elements. As in
// PyTorch, an x of three dimensions is [N, C, L]; [Dropout1d] says so more clearly.
func Dropout2d(x torch.Tensor, p float64, training bool) torch.Tensor {
	probability("dropout2d", p)
	warnOfDims("dropout2d", x, 2)
	if x.Dim() == 3 {
		torch.Warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise " +
			"1D dropout behavior is desired - input is interpreted as shape (N, C, L), where C " +
			"is the channel dim. This behavior will change in a future release to interpret the " +
			"input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D " +
			"channel-wise dropout behavior, please switch to using dropout1d instead.")
	}
	return aten.FeatureDropout(x, p, training)
}

// Dropout3d zeroes whole channels of x [N, C, D, H, W] or [C, D, H, W] as [Dropout] zeroes
// elements.
func Dropout3d(x torch.Tensor, p float64, training bool) torch.Tensor {
	probability("dropout3d", p)
	warnOfDims("dropout3d", x, 3)
	return dropChannels(x, p, training, x.Dim() == 5)
}

// warnOfDims warns if x does not have that many spatial dimensions, a channel dimension
// and optionally a batch dimension.
func warnOfDims(op string, x torch.Tensor, spatial int) {
	if got := x.Dim(); got != spatial+1 && got != spatial+2 {
		torch.Warn("%[1]s: Received a %[2]d-D input to %[1]s, which is deprecated "+
			"and will result in an error in a future release. To retain the behavior "+
			"and silence this warning, please use dropout instead. Note that %[1]s "+
			"exists to provide channel-wise dropout on inputs with %[3]d spatial dimensions, "+
			"a channel dimension, and an optional batch dimension (i.e. %[4]dD or %[5]dD inputs).", op, got, spatial, spatial+1, spatial+2)
	}
}

// FeatureAlphaDropout is [AlphaDropout] of whole channels of x [N, C, ...].
func FeatureAlphaDropout(x torch.Tensor, p float64, training bool) torch.Tensor {
	return aten.FeatureAlphaDropout(x, probability("feature_alpha_dropout", p), training)
}

// dropChannels zeroes channels of a batch, or of a single example as of a batch of one.
func dropChannels(x torch.Tensor, p float64, training, batched bool) torch.Tensor {
	if batched {
		return aten.FeatureDropout(x, p, training)
	}
	return torch.Scope1(func() torch.Tensor {
		return aten.FeatureDropout(x.Unsqueeze(0), p, training).SqueezeDim(0)
	})
}

func probability(op string, p float64) float64 {
	if p < 0 || p > 1 {
		torch.Throw(op, torch.KindValue, "dropout probability has to be between 0 and 1, but got %s", pytext.Float(p))
	}
	return p
}
