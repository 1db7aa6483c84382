// Layers that others are made of, with weights as weights.h makes them.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace tg::convolution {

// Convolutions of images, to which a sum is added.
at::Tensor winograd(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& sum,
                    at::IntArrayRef padding, std::string_view activation);
at::Tensor direct(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& sum,
                  int64_t outputs, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, int64_t dilation,
                  std::string_view activation);

// A linear layer of rows of numbers, with weights of images of one pixel.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, int64_t outputs, const std::optional<at::Tensor>& bias,
                  std::string_view activation);

}  // namespace tg::convolution
