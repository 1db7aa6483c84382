// Images with zeros around, and pixels that come to lie elsewhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstring>

namespace tg::convolution {

// padded are images with zeros around, of a height and a width, whose channels lie last. What is too far below or to the right is left out.
at::Tensor padded(const at::Tensor& x, int64_t above, int64_t left, int64_t height, int64_t width);

// The same with as many zeros on both sides; without any, images that lie so are returned themselves.
at::Tensor padded(const at::Tensor& x, int64_t above, int64_t left);

// Pixels of so many bytes, which lie so many bytes apart, are copied.
inline void copy_pixels(int64_t pixels, int64_t size, const char* from, int64_t from_apart, char* to, int64_t to_apart) {
	auto copied = [&]<int64_t some>() {  // bytes at once
		for (; pixels > 0; pixels--, from += from_apart, to += to_apart) {
			for (int64_t k = 0; k < size; k += some) {
				memcpy(to + k, from + k, some);
			}
		}
	};
	size % 32 == 0 ? copied.template operator()<32>() : size % 4 == 0 ? copied.template operator()<4>() : copied.template operator()<1>();
}

}  // namespace tg::convolution
