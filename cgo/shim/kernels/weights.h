// Weights of convolutions as the kernels of this processor read them.
#pragma once

#include <ATen/core/Tensor.h>

#include "convolution.h"

namespace tg::convolution {

constexpr auto last_channels = at::MemoryFormat::ChannelsLast;

// What computes with vectors of so many numbers of float32; an error where this processor does not.
const Processor& processor_of(int64_t vector);

// The widest vectors that this processor has; null where it has none.
const Processor* best_processor();

// Kernels for images of a dtype, with vectors of so many sums; an error where this processor has none.
const Kernels& kernels_of(at::ScalarType dtype, int64_t vector);

// The kernels for so many outputs of direct convolutions and those of each channel by itself; an error where this processor has none.
const Kernels& kernels_for(at::ScalarType dtype, int64_t outputs);

// The kernels for a dtype with the widest vectors; null where this processor has none.
const Kernels* any_kernels(at::ScalarType dtype);

// How many products of so many rows with so many numbers a thread takes at least. The numbers come from afar, each in the time of some
// multiplications: few rows are worth threads, too.
inline int64_t share_of(int64_t rows, int64_t numbers) {
	constexpr int64_t afar = 16, enough = 1 << 20;
	const int64_t share = enough / ((rows + afar) * numbers);
	return share < 1 ? 1 : share;
}

// Images of a dtype that kernels are for, or an error.
const at::Tensor& images(const at::Tensor& x);

// The numbers of a dtype that take the place of one of float32.
inline int64_t together_of(at::ScalarType dtype) { return dtype == at::kBFloat16 ? together<BFloat16> : together<float>; }

// Whether this processor multiplies vectors of 512 bits at once, and not in two halves.
bool multiplies_wide();

// Whether products of bfloat16 take less time than those of float32 on this processor.
bool bfloat16_is_faster();

// Weights [outputs, channels, 3, 3] for one of Winograd's forms: [numbers, outputs / width, channels, width]. Those of a group lie as
// [outputs / width, numbers of the group, channels, width]. They are computed in double precision and rounded once, balanced if they are not to
// be wide, which is float32. In bfloat16 each two channels are one, of twice the width. Of [outputs, channels, 7, 7], for folded images, are made
// [numbers, outputs / width, 2, 2 x channels, width].
at::Tensor winograd_weight(const at::Tensor& weight, at::IntArrayRef tile, int64_t step, bool wide, at::ScalarType dtype);

// The number of the form that winograd_weight made weights for; -1 if it made none such.
int form_of(const at::Tensor& weight);

// Weights [outputs, channels, height, width]: [vectors, height, width x channels, numbers of a vector], with zeros for the outputs that the
// last vector has too many; in bfloat16 each two of a row are one, of twice the numbers, and what an odd one lacks is zero. The vectors of a
// panel lie side by side: [height, width x channels, vectors of the panel, numbers].
at::Tensor direct_weight(const at::Tensor& weight);

// Weights [channels, 1, height, width]: [height, width, channels].
at::Tensor depthwise_weight(const at::Tensor& weight);

}  // namespace tg::convolution
