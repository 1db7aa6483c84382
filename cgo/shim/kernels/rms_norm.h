// Rows over their root mean square.
#pragma once

#include "vectors.h"

namespace tg::rows {
namespace {

using convolution::in_vectors;
using convolution::sum_of;
using convolution::Vec;

// The rows from first to last, times the weight, if there is one.
template <int W>
void rms_norm(const float* x, const float* weight, int64_t columns, float eps, int64_t first, int64_t last, float* y) {
	constexpr int at_once = 4;  // vectors, whose sums do not wait for each other
	for (x += first * columns, y += first * columns; first < last; first++, x += columns, y += columns) {
		Vec<W> squares[at_once]{};
		in_vectors<W, at_once>(columns, [&]<int V>(int64_t i, auto get, auto) __attribute__((always_inline)) {
			for (int v = 0; v < V; v++) {
				auto own = get(x + i + v * W);
				squares[v] += own * own;
			}
		});
		const float mean = sum_of<W>(squares[0] + squares[1] + (squares[2] + squares[3])) / static_cast<float>(columns);
		const Vec<W> scale = 1.0f / convolution::square_root(Vec<W>{} + (mean + eps));
		in_vectors<W, at_once>(columns, [&]<int V>(int64_t i, auto get, auto put) __attribute__((always_inline)) {
			for (int v = 0; v < V; v++) {
				auto own = get(x + i + v * W) * scale;
				put(y + i + v * W, weight != nullptr ? own * get(weight + i + v * W) : own);
			}
		});
	}
}

}  // namespace
}  // namespace tg::rows
