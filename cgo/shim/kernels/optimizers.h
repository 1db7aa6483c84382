// libtorch's fused kernels of optimizers, which take parameters of few numbers one by one: our kernels have the same bits without what
// libtorch's ask for and share between threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace tg::optimizers {

using at::Tensor;
using at::TensorList;

// aten::_fused_sgd_, whose learning rate is a number or, as tensor_lr, a tensor.
template <class Rate>
void fused_sgd_(TensorList params, TensorList gradients, TensorList means, double weight_decay, double momentum, Rate lr, double dampening,
                bool nesterov, bool maximize, bool is_first_step, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf);

// aten::_fused_adam_ and aten::_fused_adamw_.
template <bool Decoupled, class Rate>
void fused_adam_(TensorList params, TensorList gradients, TensorList means, TensorList squares, TensorList largest, TensorList steps, Rate lr,
                 double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                 const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf);

}  // namespace tg::optimizers
