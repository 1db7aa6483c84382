// Images with zeros around, and pixels that come to lie elsewhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstring>

#include "convolution.h"

namespace tg::convolution {

// Padding lays out images of a dtype that this processor has kernels for, with zeros around, of a width, whose channels lie last. What is too
// far to the right is left out.
class Padding {
 public:
	Padding(const at::Tensor& x, int64_t above, int64_t left, int64_t width);

	// The numbers of a row.
	int64_t row() const { return all_width_ * channels_; }

	// So many rows of an image, with those of zeros above, from one on.
	void rows(int64_t image, int64_t first, int64_t count, void* to) const;

 private:
	void lay_out(const void* from, void* to) const;

	const at::Tensor& x_;
	int64_t above_, left_, all_width_, channels_, width_;
	bool lies_;  // a row lies with its channels last
	const Kernels* kernels_;
	const Processor* processor_;  // what turns many channels; or null
};

// Whether images lie with their channels last and are to have no zeros around.
bool lie_padded(const at::Tensor& x, int64_t above, int64_t left);

// padded are images with zeros around, of a height and a width. What is too far below is left out, too.
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
