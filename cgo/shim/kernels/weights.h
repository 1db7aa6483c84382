// Weights of convolutions as the kernels of this processor read them.
#pragma once

#include <ATen/core/Tensor.h>

#include "convolution.h"

namespace tg::convolution {

// Kernels that take panels of that width; an error where this processor has none.
const Kernels& kernels_of(int64_t width);

// The widest kernels for so many channels, each by itself; an error where this processor has none.
const Kernels& kernels_for_each(int64_t channels);

// Weights [outputs, channels, 3, 3] for tiles of 2 x 2 or 4 x 4 outputs: [numbers, outputs / width, channels, width]. They are computed in
// double precision and rounded once.
at::Tensor winograd_weight(const at::Tensor& weight, int64_t tile);

// Weights [outputs, channels, height, width]: [outputs / width of a panel, height, width, channels, width of a panel].
at::Tensor direct_weight(const at::Tensor& weight);

// Weights [channels, 1, height, width]: [height, width, channels].
at::Tensor depthwise_weight(const at::Tensor& weight);

}  // namespace tg::convolution
