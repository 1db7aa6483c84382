// log_softmax with libtorch's bits, of short rows in less time.
#pragma once

#include <ATen/core/Tensor.h>

namespace tg::rows {

// aten::_log_softmax and aten::_log_softmax_backward_data.
at::Tensor log_softmax(const at::Tensor& x, int64_t dim, bool half_to_float);
at::Tensor log_softmax_backward(const at::Tensor& gradient, const at::Tensor& y, int64_t dim, at::ScalarType dtype);

}  // namespace tg::rows
