// Weights of fewer bits.
#pragma once

#include <ATen/core/Tensor.h>

namespace tg::convolution {

// Weights of float32 in bfloat16, float16 or whole numbers from -127 to 127, rounded such that the errors of a row, which is what has one
// first index, add up to nearly nothing: a few numbers of it are rounded to the other side, those first that lie nearest to the middle, and
// inwards none that would become larger.
at::Tensor balanced(const at::Tensor& weight, at::ScalarType dtype, bool inwards = false);

}  // namespace tg::convolution
