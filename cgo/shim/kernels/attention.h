// Attention of rows that see all keys: keys and values lie in panels, as weights of convolutions do, and products are made for a block of rows
// before these become weights.
#pragma once

#include "direct.h"
#include "head.h"
#include "multiply.h"

namespace tg::attention {
namespace {

using convolution::Ints;
using convolution::least;
using convolution::load;
using convolution::load_at_most;
using convolution::store;
using convolution::store_at_most;
using convolution::sum_of;
using convolution::Sums;
using convolution::together;
using convolution::Vec;
using convolution::whole;

// Columns in panels of two vectors, and one of one where the last has no more.
template <int W, class Do>
INLINE void in_panels(int64_t columns, const Do& run) {
	int64_t first = 0;
	for (; columns - first > W; first += 2 * W) {
		run.template operator()<2>(first);
	}
	if (first < columns) {
		run.template operator()<1>(first);
	}
}

// Keys as columns. Numbers that are multiplied together stay side by side, and take the place of one of float32.
template <class N, int W>
void pack_keys(const Head& h, N* to) {
	constexpr int64_t P = together<N>;
	in_panels<W>(h.keys, [&]<int V>(int64_t first) {
		auto* panel = reinterpret_cast<float*>(to + first * h.depth);
		const int64_t some = least(V * W, h.keys - first);
		if (some < V * W) {
			for (int64_t i = 0; i < h.depth / P * V; i++) {
				store(panel + i * W, Vec<W>{});
			}
		}
		const auto* from = reinterpret_cast<const float*>(static_cast<const N*>(h.k) + first * h.k_row);
		matrices::turn<W>(from, h.k_row / P, some, h.depth / P, panel, V * W);
	});
}

// What two values are, of one number each that are multiplied together; the second may be none.
template <int W>
INLINE Vec<W> side_by_side(const float* from, const float*, int64_t some) {
	return load_at_most<W>(from, some);
}

#if defined(TG_BFLOAT16)
template <int W>
INLINE Vec<W> side_by_side(const convolution::BFloat16* first, const convolution::BFloat16* second, int64_t some) {
	auto low = (Ints<W>)load_at_most<W>(first, some) >> 16 & 0xffff;
	return second ? (Vec<W>)(low | (Ints<W>)load_at_most<W>(second, some)) : (Vec<W>)low;
}
#endif

template <class N, int W>
void pack_values(const Head& h, N* to) {
	constexpr int64_t P = together<N>;
	const auto* values = static_cast<const N*>(h.v);
	in_panels<W>(h.width, [&]<int V>(int64_t first) {
		N* panel = to + first * whole(h.keys, P);
		for (int64_t k = 0; k < h.keys; k += P) {
			for (int v = 0; v < V; v++, panel += P * W) {
				const N* from = values + k * h.v_row + first + v * W;
				store(reinterpret_cast<float*>(panel), side_by_side<W>(from, k + 1 < h.keys ? from + h.v_row : nullptr, h.width - first - v * W));
			}
		}
	});
}

template <int W>
INLINE float largest_of(Vec<W> v) {
	float most = v[0];
	for (int i = 1; i < W; i++) {
		most = v[i] > most ? v[i] : most;
	}
	return most;
}

// Minus infinity from a lane on.
template <int W>
INLINE Vec<W> without(Vec<W> v, int64_t from) {
	Ints<W> place;
	for (int i = 0; i < W; i++) {
		place[i] = i;
	}
	return place < static_cast<int32_t>(from) ? v : Vec<W>{} - __builtin_inff();
}

// A row's products become weights: e to the power of what each is behind the largest. Those that are not seen weigh nothing. Returned is what
// makes their sum one; zero where all are minus infinity.
template <class N, int W>
INLINE float weigh(const Head& h, float* products, int64_t seen, const float* mask, N* to) {
	Vec<W> most = Vec<W>{} - __builtin_inff(), sum{};
	for (int64_t i = 0; i < seen; i += W) {
		Vec<W> x = load<W>(products + i) * h.scale;
		if (mask) {
			x += load_at_most<W>(mask + i, h.keys - i);
		}
		if (seen - i < W) {
			x = without<W>(x, seen - i);
		}
		store(products + i, x);
		most = convolution::larger(x, most);
	}
	const float top = largest_of<W>(most), start = top == -__builtin_inff() ? 0 : top;
	int64_t i = 0;
	for (; i < seen; i += W) {
		const Vec<W> x = load<W>(products + i) - start, lowest = Vec<W>{} + convolution::kLeastPower;
		Vec<W> y = convolution::exponential_within(convolution::larger(lowest, x));
		y = x < lowest ? Vec<W>{} : y;
		sum += y;
		store(to + i, y);
	}
	for (; i < h.keys; i += W) {
		store(to + i, Vec<W>{});
	}
	const float all = sum_of<W>(sum);
	return all == 0 ? 0 : 1 / all;
}

// A head with all its rows. R of them are computed at a time.
template <class N, int W, int R>
void attend(const Head& h, float* room) {
	constexpr int64_t P = together<N>;
	const int64_t keys = whole(h.keys, W), row_size = apart(h.keys, W);
	N* key_panels = reinterpret_cast<N*>(room);
	N* value_panels = key_panels + keys * h.depth;
	float* products = reinterpret_cast<float*>(value_panels + whole(h.keys, P) * whole(h.width, W));
	N* weights = P == 1 ? reinterpret_cast<N*>(products) : reinterpret_cast<N*>(products + kRows * row_size);
	float factors[kRows];
	pack_keys<N, W>(h, key_panels);
	pack_values<N, W>(h, value_panels);
	for (int64_t top = 0; top < h.rows; top += kRows) {
		const int64_t n = least(kRows, h.rows - top);
		auto query = [&](int64_t row) { return static_cast<const N*>(h.q) + (top + row) * h.q_row; };
		in_panels<W>(h.keys, [&]<int V>(int64_t first) {
			const Vec<W> zeros[V]{};
			auto done = [&]<int M>(int64_t row, const Sums<W, V, M>& sums) __attribute__((always_inline)) {
#pragma GCC unroll 16
				for (int r = 0; r < M; r++) {
#pragma GCC unroll 16
					for (int v = 0; v < V; v++) {
						store(products + (row + r) * row_size + first + v * W, sums.rows[r][v]);
					}
				}
			};
			convolution::products<W, V, R>(0, n, query, 1, 0, convolution::Weights{key_panels + first * h.depth}, h.depth, zeros, done);
		});
		for (int64_t row = 0; row < n; row++) {
			const int64_t seen = h.causal ? least(h.keys, top + row + 1) : h.keys;
			const float* mask = h.mask ? h.mask + (top + row) * h.mask_row : nullptr;
			factors[row] = weigh<N, W>(h, products + row * row_size, seen, mask, weights + row * row_size);
		}
		auto weight = [&](int64_t row) { return static_cast<const N*>(weights) + row * row_size; };
		in_panels<W>(h.width, [&]<int V>(int64_t first) {
			const Vec<W> zeros[V]{};
			auto done = [&]<int M>(int64_t row, const Sums<W, V, M>& sums) __attribute__((always_inline)) {
				N* to = static_cast<N*>(h.to) + (top + row) * h.to_row + first;
#pragma GCC unroll 16
				for (int r = 0; r < M; r++, to += h.to_row) {
#pragma GCC unroll 16
					for (int v = 0; v < V; v++) {
						const auto mean = sums.rows[r][v] * factors[row + r];
						store_at_most(to + v * W, mean, h.width - first - v * W);
					}
				}
			};
			convolution::products<W, V, R>(0, n, weight, 1, 0, convolution::Weights{value_panels + first * whole(h.keys, P)}, h.keys, zeros, done);
		});
	}
}

}  // namespace
}  // namespace tg::attention
