#include "padding.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "call.h"

namespace tg::convolution {
namespace {

using at::Tensor;

constexpr int64_t few = 4;

// turn lays out pixels of a few channels with these last, four pixels at a time, and returns how many it has done. The fourth number of a
// pixel of three is overwritten by the next.
template <int channels, class N>
int64_t turn(const N* row, int64_t apart, int64_t width, N* to) {
	typedef N Four __attribute__((vector_size(few * sizeof(N))));
	using Places = decltype(Four{} < Four{});
	constexpr Places lower{0, 4, 1, 5}, upper{2, 6, 3, 7}, first{0, 1, 4, 5}, second{2, 3, 6, 7};
	int64_t at = 0;
	for (; at + few < width; at += few) {
		Four c[few] = {};
		for (int64_t i = 0; i < channels; i++) {
			memcpy(&c[i], row + i * apart + at, sizeof c[i]);
		}
		Four low = __builtin_shuffle(c[0], c[1], lower), high = __builtin_shuffle(c[0], c[1], upper);
		Four low2 = __builtin_shuffle(c[2], c[3], lower), high2 = __builtin_shuffle(c[2], c[3], upper);
		const Four pixels[few] = {__builtin_shuffle(low, low2, first), __builtin_shuffle(low, low2, second),
		                          __builtin_shuffle(high, high2, first), __builtin_shuffle(high, high2, second)};
		for (int64_t i = 0; i < few; i++) {
			memcpy(to + (at + i) * channels, &pixels[i], sizeof pixels[i]);
		}
	}
	return at;
}

// interleave lays out a row of an image with its channels last.
template <class N>
void interleave(const void* row, int64_t apart, int64_t step, int64_t width, int64_t channels, void* to) {
	const N* from = static_cast<const N*>(row);
	N* own = static_cast<N*>(to);
	int64_t done = 0;
	if (step == 1 && channels == few) {
		done = turn<few>(from, apart, width, own);
	} else if (step == 1 && channels == few - 1) {
		done = turn<few - 1>(from, apart, width, own);
	}
	for (int64_t c = 0; c < channels; c++) {
		for (int64_t at = done; at < width; at++) {
			own[at * channels + c] = from[c * apart + at * step];
		}
	}
}

}  // namespace

Tensor padded(const Tensor& x, int64_t above, int64_t left, int64_t all_height, int64_t all_width) {
	const int64_t channels = x.size(1), row = all_width * channels;
	const int64_t height = std::min(x.size(2), all_height - above), width = std::min(x.size(3), all_width - left);
	const int64_t before = left * channels, own = width * channels, after = row - before - own;
	auto all = at::empty({x.size(0), channels, all_height, all_width}, x.options(), last_channels);
	bool lies = x.stride(1) == 1 && (width == 1 || x.stride(3) == channels);
	auto put = x.scalar_type() == at::kFloat ? interleave<float> : interleave<uint16_t>;
	const auto* best = x.scalar_type() == at::kFloat && x.stride(3) == 1 && channels > few ? best_processor() : nullptr;
	void* out = all.mutable_data_ptr();
	for (int64_t i = 0; i < x.size(0); i++) {
		for (int64_t y = -above; y < all_height - above; y++, out = behind(out, row, x)) {
			if (y < 0 || y >= height) {
				memset(out, 0, row * x.element_size());
				continue;
			}
			const void* from = behind(x.const_data_ptr(), i * x.stride(0) + y * x.stride(2), x);
			memset(out, 0, before * x.element_size());
			void* to = behind(out, before, x);
			if (lies) {
				memcpy(to, from, own * x.element_size());
			} else if (best != nullptr) {
				best->turn(static_cast<const float*>(from), x.stride(1), channels, width, static_cast<float*>(to), channels);
			} else {
				put(from, x.stride(1), x.stride(3), width, channels, to);
			}
			memset(behind(to, own, x), 0, after * x.element_size());
		}
	}
	return all;
}

Tensor padded(const Tensor& x, int64_t above, int64_t left) {
	if (above == 0 && left == 0 && x.is_contiguous(last_channels)) {
		return x;
	}
	return padded(x, above, left, x.size(2) + 2 * above, x.size(3) + 2 * left);
}

}  // namespace tg::convolution
