// Losses of few numbers, with libtorch's bits, in less time than it takes to find its kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <utility>

namespace tg::losses {

// The negative log-likelihood of a class in each row of x, their mean or their sum, and the number of rows; none if that is libtorch's to
// compute: it has many rows, does not lie side by side, or a class is none.
std::optional<std::pair<at::Tensor, at::Tensor>> nll_loss(const at::Tensor& x, const at::Tensor& classes, bool mean);

// What it makes of its gradient; none as well if count is another number than that of the rows.
std::optional<at::Tensor> nll_loss_backward(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& classes, bool mean,
                                            const at::Tensor& count);

}  // namespace tg::losses
