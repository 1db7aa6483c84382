// Rotary embeddings, in one pass over each row.
#pragma once

#include "turned.h"
#include "vectors.h"

namespace tg::rows {
namespace {

// The rows from first to last.
template <int W>
void rotary(const Turned& t, int64_t first, int64_t last) {
	const int64_t half = t.columns / 2;
	for (; first < last; first++) {
		const float *x = t.x, *cos = t.cos, *sin = t.sin;
		float* y = t.y;
		int64_t rest = first;
		for (int i = Turned::kDims - 1; i >= 0; i--) {
			const int64_t at = rest % t.sizes[i];
			rest /= t.sizes[i];
			x += at * t.x_steps[i], cos += at * t.cos_steps[i], sin += at * t.sin_steps[i], y += at * t.y_steps[i];
		}
		in_vectors<W, 2>(half, [&]<int V>(int64_t from, auto get, auto put) __attribute__((always_inline)) {
			for (int64_t i = from; i < from + V * W; i += W) {
				auto a = get(x + i), b = get(x + half + i);
				put(y + i, a * get(cos + i) - b * get(sin + i));
				put(y + half + i, b * get(cos + half + i) + a * get(sin + half + i));
			}
		});
	}
}

}  // namespace
}  // namespace tg::rows
