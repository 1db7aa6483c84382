// Products of matrices with libtorch's bits, in less time where there is less to take.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "product.h"
#include "update.h"

namespace tg::matrices {

// aten::mm and aten::addmm.
at::Tensor mm(const at::Tensor& a, const at::Tensor& b);
at::Tensor addmm(const at::Tensor& start, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta, const at::Scalar& alpha);

// start, or nothing, + a x b and what becomes of it; none if our kernels do not compute it.
std::optional<at::Tensor> product(const at::Tensor* start, const at::Tensor& a, const at::Tensor& b, const Ending& ending = {});

// Does with a product what nothing has done with it; false, and nothing is done, if our kernels do not.
bool rectify(const Ending& ending, at::Tensor& c);

// Updates a parameter that lies in memory as a x b would, with that as its gradient; false, and nothing has been done, if our kernels do not
// compute it.
bool multiply_into(Update& update, const at::Tensor& a, const at::Tensor& b);

}  // namespace tg::matrices
