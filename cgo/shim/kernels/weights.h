// Weights of convolutions as the kernels of this processor read them.
#pragma once

#include <ATen/core/Tensor.h>

#include "convolution.h"

namespace tg::convolution {

constexpr auto last_channels = at::MemoryFormat::ChannelsLast;

// Kernels with vectors of so many numbers; an error where this processor has none.
const Kernels& kernels_of(int64_t vector);

// Those with the widest vectors that this processor has; null where it has none.
const Kernels* best_kernels();

// The kernels for so many outputs of direct convolutions and those of each channel by itself; an error where this processor has none.
const Kernels& kernels_for(int64_t outputs);

// Whether products of bfloat16 take less time than those of float32 on this processor.
bool bfloat16_is_faster();

// Weights [outputs, channels, 3, 3] for tiles of 2 x 2 or 4 x 4 outputs: [numbers, outputs / width, channels, width]. They are computed in
// double precision and rounded once.
at::Tensor winograd_weight(const at::Tensor& weight, int64_t tile);

// Weights [outputs, channels, height, width]: [vectors, height, width, channels, numbers of a vector], with zeros for the outputs that the
// last vector has too many. The vectors of a panel lie side by side: [height, width, channels, vectors of the panel, numbers].
at::Tensor direct_weight(const at::Tensor& weight);

// Weights [channels, 1, height, width]: [height, width, channels].
at::Tensor depthwise_weight(const at::Tensor& weight);

}  // namespace tg::convolution
