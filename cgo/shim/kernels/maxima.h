// The largest of neighbouring pixels.
#pragma once

#include "convolution.h"
#include "vectors.h"

namespace tg::convolution {
namespace {

// The largest of V vectors of some pixels' channels. What is no number is the largest.
template <int W, int V, class M, class Load>
INLINE void largest(const M* from, int64_t rows, int64_t row, int64_t columns, int64_t channels, Vec<W>* to, const Load& load) {
	for (int v = 0; v < V; v++) {
		to[v] = load(from + v * W);
	}
	for (int64_t y = 0; y < rows; y++, from += row) {
		for (int64_t x = 0; x < columns; x++) {
			for (int v = 0; v < V; v++) {
				Vec<W> own = load(from + x * channels + v * W);
				to[v] = own != own ? own : larger(own, to[v]);
			}
		}
	}
}

// The rows of outputs from first to last, counted through all images of M, as N.
template <class M, class N, int W>
void maxima(const Task& t, int64_t first, int64_t last) {
	for (; first < last; first++) {
		const int64_t top = first % t.out_height * t.down - t.above, above = most(0, top);
		const int64_t rows = least(t.height, top + t.kernel_height) - above, row = t.width * t.channels;
		const M* image = static_cast<const M*>(t.x) + (first / t.out_height * t.height + above) * row;
		N* to = static_cast<N*>(t.y) + first * t.out_width * t.channels;
		for (int64_t x = 0; x < t.out_width; x++, to += t.channels) {
			const int64_t side = x * t.across - t.left, left = most(0, side), columns = least(t.width, side + t.kernel_width) - left;
			const M* from = image + left * t.channels;
			in_vectors<W, 4>(t.channels, [&]<int V>(int64_t c, const auto& load, const auto& store) {
				Vec<W> m[V];
				largest<W, V>(from + c, rows, row, columns, t.channels, m, load);
				for (int v = 0; v < V; v++) {
					store(to + c + v * W, m[v]);
				}
			});
		}
	}
}

}  // namespace
}  // namespace tg::convolution
