// What operators of convolutions look at before they compute.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "convolution.h"

namespace tg::convolution {

constexpr int64_t kMost = 1 << 16;  // of a kernel, a step, or pixels that are added or cut off

// So many numbers in a range.
void check_each(const char* what, at::IntArrayRef n, size_t count, int64_t low, int64_t high = kMost);

Activation activation_of(std::string_view name);

// How many times a kernel fits on one side of images.
int64_t outputs_of(int64_t size, int64_t padding, int64_t kernel, int64_t stride);

}  // namespace tg::convolution
