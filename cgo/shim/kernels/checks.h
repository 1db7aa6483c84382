// What operators of convolutions look at before they compute.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "convolution.h"

namespace tg::convolution {

// Two numbers in a range.
void check_pair(const char* what, at::IntArrayRef n, int64_t low, int64_t high);

Activation activation_of(std::string_view name);

// How many times a kernel fits on one side of images.
int64_t outputs_of(int64_t size, int64_t padding, int64_t kernel, int64_t stride);

}  // namespace tg::convolution
