// Convolutions of each channel by itself: many numbers are read and few are computed, so all channels of some neighbouring pixels are
// computed together, and zeros around an image are left out instead of read.
#pragma once

#include "direct.h"

namespace tg::convolution {
namespace {

// P neighbouring pixels, of which the first lies at place. x and w are the first of rows and columns of pixels and weights that meet.
template <int W, int P>
INLINE void neighbours(const Task& t, const float* x, const float* w, int64_t rows, int64_t columns, int64_t place) {
	const int64_t row = t.width * t.channels, step = t.across * t.channels, weights = t.kernel_width * t.channels;
	for (int64_t c = 0; c < t.channels; c += W) {
		Vec<W> sums[P];
		for (int p = 0; p < P; p++) {
			sums[p] = Vec<W>{};
		}
		for (int64_t i = 0; i < rows; i++) {
			const float *from = x + i * row + c, *by = w + i * weights + c;
			for (int64_t k = 0; k < columns; k++, from += t.channels, by += t.channels) {
				Vec<W> weight = load<W>(by);
				for (int p = 0; p < P; p++) {
					sums[p] += load<W>(from + p * step) * weight;
				}
			}
		}
		for (int p = 0; p < P; p++) {
			finish<W>(t, sums[p], place + p * t.channels + c, c);
		}
	}
}

// The pixels of a row from first to last, all of whose columns meet: as many at a time as there are registers for, then fewer.
template <int W, int P>
INLINE void inner(const Task& t, const float* x, const float* w, int64_t rows, int64_t first, int64_t last, int64_t place) {
	for (; last - first >= P; first += P) {
		neighbours<W, P>(t, x + (first * t.across - t.left) * t.channels, w, rows, t.kernel_width, place + first * t.channels);
	}
	if constexpr (P > 1) {
		inner<W, P / 2>(t, x, w, rows, first, last, place);
	}
}

// Rows of the outputs, which are counted through all images.
template <int W>
void depthwise(const Task& t, int64_t first, int64_t last) {
	for (; first < last; first++) {
		int64_t y = first % t.out_height * t.down - t.above, above = most(0, -y);
		int64_t rows = most(0, least(t.kernel_height, t.height - y) - above);
		const float* x = t.x + (first / t.out_height * t.height + (rows > 0 ? y + above : 0)) * t.width * t.channels;
		const float* w = t.weight + above * t.kernel_width * t.channels;
		int64_t place = first * t.out_width * t.channels;
		auto edge = [&](int64_t pixel) {
			int64_t at = pixel * t.across - t.left, before = most(0, -at);
			int64_t columns = most(0, least(t.kernel_width, t.width - at) - before);
			bool meets = rows > 0 && columns > 0;
			neighbours<W, 1>(t, meets ? x + (at + before) * t.channels : x, meets ? w + before * t.channels : w, meets ? rows : 0,
			                 meets ? columns : 0, place + pixel * t.channels);
		};
		int64_t begin = least(t.out_width, (t.left + t.across - 1) / t.across);
		int64_t fit = t.width + t.left - t.kernel_width;  // what lies before the last pixel all of whose columns meet, in steps
		int64_t end = rows > 0 && fit >= 0 ? least(t.out_width, fit / t.across + 1) : begin;
		for (int64_t pixel = 0; pixel < begin; pixel++) {
			edge(pixel);
		}
		inner<W, 8>(t, x, w, rows, begin, end, place);
		for (int64_t pixel = most(begin, end); pixel < t.out_width; pixel++) {
			edge(pixel);
		}
	}
}

}  // namespace
}  // namespace tg::convolution
