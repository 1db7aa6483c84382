// Products of matrices with libtorch's bits, in less time where there is less to take.
#pragma once

#include <ATen/core/Tensor.h>

namespace tg::matrices {

// aten::mm and aten::addmm.
at::Tensor mm(const at::Tensor& a, const at::Tensor& b);
at::Tensor addmm(const at::Tensor& start, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta, const at::Scalar& alpha);

}  // namespace tg::matrices
