// Products of rows and columns whose numbers lie side by side, each sum made as one of vectors: numbers are added in lanes, and these by
// halves at the end. MKL makes products of few columns so.
#pragma once

#include "product.h"
#include "vectors.h"

namespace tg::matrices {
namespace {

template <class V>
INLINE float halved(V lanes) {
	for (int n = sizeof(V) / sizeof(float) / 2; n > 0; n /= 2) {
		for (int i = 0; i < n; i++) {
			lanes[i] += lanes[i + n];
		}
	}
	return lanes[0];
}

// R rows of c, C columns each, in so many lanes.
template <int Lanes, int R, int C>
INLINE void dots(const Product& p, int64_t row, int64_t column) {
	convolution::Vec<Lanes> sums[R][C]{};
	const float* a = p.a + row * p.a_row;
	const float* b = p.b + column * p.b_column;
	for (int64_t k = 0; k < p.depth; k += Lanes) {
		for (int j = 0; j < C; j++) {
			auto y = convolution::load<Lanes>(b + j * p.b_column + k);
			for (int i = 0; i < R; i++) {
				sums[i][j] += convolution::load<Lanes>(a + i * p.a_row + k) * y;
			}
		}
	}
	for (int i = 0; i < R; i++) {
		for (int j = 0; j < C; j++) {
			const float sum = halved(sums[i][j]);
			p.c[(row + i) * p.c_row + column + j] = p.start != nullptr ? p.start[column + j] + sum : sum;
		}
	}
}

// C columns from one on, of all rows.
template <int Lanes, int C>
INLINE void dots_of_rows(const Product& p, int64_t column) {
	constexpr int some = 4;
	int64_t row = 0;
	for (; row + some <= p.rows; row += some) {
		dots<Lanes, some, C>(p, row, column);
	}
	for (; row < p.rows; row++) {
		dots<Lanes, 1, C>(p, row, column);
	}
}

// Two columns with as many lanes are computed together.
void multiply_in_lanes(const Product& of) {
	const Product p = of;  // no number that is written lies in it
	for (int64_t column = 0; column < p.columns;) {
		const bool eight = p.order.has_eight(column);
		const bool two = column + 1 < p.columns && p.order.has_eight(column + 1) == eight;
		if (eight) {
			two ? dots_of_rows<8, 2>(p, column) : dots_of_rows<8, 1>(p, column);
		} else {
			two ? dots_of_rows<4, 2>(p, column) : dots_of_rows<4, 1>(p, column);
		}
		column += two ? 2 : 1;
	}
}

}  // namespace
}  // namespace tg::matrices
