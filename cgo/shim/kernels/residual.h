// Sums of two tensors and their layer norm, in one pass over each row.
#pragma once

#include "branch.h"
#include "vectors.h"

namespace tg::residual {
namespace {

using convolution::in_vectors;
using convolution::load;
using convolution::store;
using convolution::sum_of;
using convolution::Vec;

constexpr int kAtOnce = 4;  // vectors, whose sums do not wait for each other

template <class N, int W, class X, class Y>
void add_and_norm(const Branch& b, const X* x, const Y* y, int64_t first, int64_t last) {
	const int64_t n = b.columns;
	const N *weight = static_cast<const N*>(b.weight), *bias = static_cast<const N*>(b.bias);
	for (; first < last; first++) {
		const X* left = x + first * n;
		const Y* right = y + first * n;
		float* sum = b.sum + first * n;
		N* to = static_cast<N*>(b.to) + first * n;
		Vec<W> sums[kAtOnce]{}, squares[kAtOnce]{};
		in_vectors<W, kAtOnce>(n, [&]<int V>(int64_t i, auto, auto) __attribute__((always_inline)) {
			for (int v = 0; v < V; v++) {
				auto both = load<W>(left + i + v * W) + load<W>(right + i + v * W);
				store(sum + i + v * W, both);
				sums[v] += both;
			}
		});
		const float mean = sum_of<W>(sums[0] + sums[1] + (sums[2] + sums[3])) / static_cast<float>(n);
		in_vectors<W, kAtOnce>(n, [&]<int V>(int64_t i, auto, auto) __attribute__((always_inline)) {
			for (int v = 0; v < V; v++) {
				auto off = load<W>(sum + i + v * W) - mean;
				squares[v] += off * off;
			}
		});
		const float variance = sum_of<W>(squares[0] + squares[1] + (squares[2] + squares[3])) / static_cast<float>(n);
		const Vec<W> scale = 1.0f / convolution::square_root(Vec<W>{} + (variance + b.eps));
		in_vectors<W, kAtOnce>(n, [&]<int V>(int64_t i, auto, auto) __attribute__((always_inline)) {
			for (int v = 0; v < V; v++) {
				auto off = load<W>(sum + i + v * W) - mean;
				store(to + i + v * W, off * scale * load<W>(weight + i + v * W) + load<W>(bias + i + v * W));
			}
		});
	}
}

// The rows from first to last.
template <class N, int W>
void add_norm(const Branch& b, int64_t first, int64_t last) {
	auto *x = static_cast<const float*>(b.x), *y = static_cast<const float*>(b.y);
	if (b.x_wide && b.y_wide) {
		return add_and_norm<N, W>(b, x, y, first, last);
	}
	if (b.x_wide) {
		return add_and_norm<N, W>(b, x, static_cast<const N*>(b.y), first, last);
	}
	if (b.y_wide) {
		return add_and_norm<N, W>(b, static_cast<const N*>(b.x), y, first, last);
	}
	add_and_norm<N, W>(b, static_cast<const N*>(b.x), static_cast<const N*>(b.y), first, last);
}

}  // namespace
}  // namespace tg::residual
