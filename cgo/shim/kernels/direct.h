// Direct convolutions: each pixel of the result is a product of what is around it, a row of the kernel at a time, with a panel of weights.
#pragma once

#include "convolution.h"
#include "vectors.h"

namespace tg::convolution {
namespace {

// What is no number stays so in all of them.
template <int W>
INLINE Vec<W> activate(Activation a, Vec<W> v) {
	if (a == Activation::none) {
		return v;
	}
	if (a == Activation::relu) {
		return v < 0.0f ? Vec<W>{} : v;
	}
	Vec<W> six = Vec<W>{} + 6.0f, part = v + 3.0f;
	part = part < 0.0f ? Vec<W>{} : part;
	part = (part > 6.0f ? six : part) * (1.0f / 6);
	return a == Activation::hardswish ? v * part : part;
}

// finish writes what was computed for outputs that lie at place, the first of which has that number.
template <int W>
INLINE void finish(const Task& t, Vec<W> v, int64_t place, int64_t output) {
	if (t.bias) {
		v += load<W>(t.bias + output);
	}
	if (t.sum) {
		v += load<W>(t.sum + place);
	}
	store(t.y + place, activate<W>(t.activation, v));
}

template <int W, int R>
void direct(const Task& t, int64_t panel, int64_t first, int64_t last) {
	const int64_t row = t.width * t.channels, n = t.kernel_width * t.channels, output = panel * 2 * W;
	auto at = [&](int64_t pixel) {
		int64_t x = pixel % t.out_width, y = pixel / t.out_width % t.out_height, image = pixel / t.out_width / t.out_height;
		return t.x + (image * t.height + y * t.down) * row + x * t.across * t.channels;
	};
	auto done = [&](int64_t pixel, Vec<W> left, Vec<W> right) {
		int64_t place = pixel * t.outputs + output;
		finish<W>(t, left, place, output);
		finish<W>(t, right, place + W, output + W);
	};
	products<W, R>(first, last, at, t.kernel_height, row, t.weight + output * t.kernel_height * n, n, done);
}

}  // namespace
}  // namespace tg::convolution
