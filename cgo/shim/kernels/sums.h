// Sums of the columns of small matrices, as the gradients of biases are, with libtorch's bits in less time.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace tg::sums {

// aten::sum.dim_IntList.
at::Tensor sum(const at::Tensor& x, at::OptionalIntArrayRef dims, bool keepdim, std::optional<at::ScalarType> dtype);

}  // namespace tg::sums
