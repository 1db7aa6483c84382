// What our kernels of float32 compute with.
#pragma once

#include <ATen/core/Tensor.h>

#include "compat.h"

namespace tg {

// Whether a tensor's numbers lie in the processor's memory as they are, with steps between them, and its dimensions have no names.
inline bool is_as_it_lies(const at::Tensor& t) {
	return t.layout() == at::kStrided && t.device().is_cpu() && !t.is_conj() && !t.is_neg() && !t.is_quantized() && !is_named(t);
}

// Whether they are of float32 as well.
inline bool is_plain(const at::Tensor& t) { return t.scalar_type() == at::kFloat && is_as_it_lies(t); }

// Whether they lie side by side in such sizes.
inline bool is_plain(const at::Tensor& t, at::IntArrayRef sizes) { return is_plain(t) && t.is_contiguous() && t.sizes() == sizes; }

}  // namespace tg
