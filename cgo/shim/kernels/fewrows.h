// Attention of few rows, such as those of a next word: keys and values are read where they lie, once for all rows.
#pragma once

#include <algorithm>

#include "attention.h"

namespace tg::attention {
namespace {

// What a query has in common with W keys, of which some are there.
template <int W>
INLINE Vec<W> agreement(const float* query, const float* keys, int64_t row, int64_t depth, int64_t some) {
	Vec<W> sums[W]{};
	const float* from[W];
	for (int i = 0; i < W; i++) {
		from[i] = keys + least(i, some - 1) * row;
	}
	convolution::in_vectors<W, 1>(depth, [&]<int>(int64_t k, auto get, auto) __attribute__((always_inline)) {
		const Vec<W> own = get(query + k);
		convolution::unrolled<W>([&](int i) __attribute__((always_inline)) { sums[i] += own * get(from[i] + k); });
	});
	matrices::turn_square<W>(sums);
	for (int n = W / 2; n > 0; n /= 2) {
		for (int i = 0; i < n; i++) {
			sums[i] += sums[i + n];
		}
	}
	return sums[0];
}

// Adds n values, each times its weight.
template <int W>
INLINE void add_values(const float* weights, const float* values, int64_t row, int64_t n, int64_t width, float* to) {
	constexpr int at_once = 8;  // vectors, whose sums do not wait for each other
	convolution::in_vectors<W, at_once>(width, [&]<int V>(int64_t i, auto get, auto put) __attribute__((always_inline)) {
		Vec<W> sums[V]{};
		for (int64_t k = 0; k < n; k++) {
			for (int v = 0; v < V; v++) {
				sums[v] += weights[k] * get(values + k * row + i + v * W);
			}
		}
		for (int v = 0; v < V; v++) {
			put(to + i + v * W, get(to + i + v * W) + sums[v]);
		}
	});
}

// A head of fewer than kFewRows. What some keys, or some values, have to give is taken by all rows while they are near.
template <int W>
void attend_few(const Head& h, float* room) {
	constexpr int64_t near = 32;
	const auto *q = static_cast<const float*>(h.q), *k = static_cast<const float*>(h.k), *v = static_cast<const float*>(h.v);
	const int64_t products_row = apart(h.keys, W);
	float* sums = room + h.rows * products_row;
	float factors[kFewRows];
	for (int64_t first = 0; first < h.keys; first += W) {
		for (int64_t row = 0; row < h.rows; row++) {
			auto products = agreement<W>(q + row * h.q_row, k + first * h.k_row, h.k_row, h.depth, h.keys - first);
			store(room + row * products_row + first, products);
		}
	}
	for (int64_t row = 0; row < h.rows; row++) {
		float* products = room + row * products_row;
		const float* mask = h.mask ? h.mask + row * h.mask_row : nullptr;
		factors[row] = weigh<float, W>(h, products, h.causal ? least(h.keys, row + 1) : h.keys, mask, products);
	}
	std::fill_n(sums, h.rows * h.width, 0.0f);
	for (int64_t first = 0; first < h.keys; first += near) {
		for (int64_t row = 0; row < h.rows; row++) {
			const float* weights = room + row * products_row + first;
			add_values<W>(weights, v + first * h.v_row, h.v_row, least(near, h.keys - first), h.width, sums + row * h.width);
		}
	}
	for (int64_t row = 0; row < h.rows; row++) {
		float* to = static_cast<float*>(h.to) + row * h.to_row;
		convolution::in_vectors<W, 1>(h.width, [&]<int>(int64_t i, auto get, auto put) __attribute__((always_inline)) {
			put(to + i, get(sums + row * h.width + i) * factors[row]);
		});
	}
}

}  // namespace
}  // namespace tg::attention
