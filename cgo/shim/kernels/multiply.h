// Products of matrices as they lie in memory, without copies of them.
#pragma once

#include <algorithm>

#include "product.h"
#include "vectors.h"

namespace tg::matrices {
namespace {

using convolution::any;
using convolution::in_vectors;
using convolution::least;
using convolution::load;
using convolution::store;
using convolution::unrolled;
using convolution::Vec;

// Sums of R rows, V vectors each.
template <int W, int V, int R>
using Tile = Vec<W>[R][V];

// The rows of sums of V vectors that registers hold beside a row of b and a number of a: more than six do not make it faster.
template <int W, int V>
constexpr int kRows = std::min(6, ((W == 16 ? 32 : 16) - V - 1) / V);

// Squares of W x W numbers as their columns. In each step, numbers whose places differ in one bit of the row, or of the column, change
// places.
template <int W, int Bit = W / 2>
INLINE void turn_square(Vec<W>* rows) {
	convolution::Ints<W> upper, lower;
	for (int i = 0; i < W; i++) {
		upper[i] = i & Bit ? W + i - Bit : i;
		lower[i] = i & Bit ? W + i : i + Bit;
	}
	for (int i = 0; i < W; i++) {
		if (!(i & Bit)) {
			Vec<W> a = rows[i], b = rows[i + Bit];
			rows[i] = __builtin_shuffle(a, b, upper);
			rows[i + Bit] = __builtin_shuffle(a, b, lower);
		}
	}
	if constexpr (Bit > 1) {
		turn_square<W, Bit / 2>(rows);
	}
}

// A matrix's rows, or ReLU of them, as the columns of another one, whose rows lie so far apart.
template <int W>
void turn(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to, int64_t to_row, bool relu = false) {
	const int64_t whole_rows = rows / W * W, whole_columns = columns / W * W;
	for (int64_t top = 0; top < whole_rows; top += W) {
		for (int64_t left = 0; left < whole_columns; left += W) {
			Vec<W> square[W];
			for (int i = 0; i < W; i++) {
				square[i] = load<W>(from + (top + i) * from_row + left);
			}
			turn_square<W>(square);
			for (int i = 0; i < W; i++) {
				store(to + (left + i) * to_row + top, relu ? convolution::rectified(square[i]) : square[i]);
			}
		}
	}
	auto rest = [&](int64_t top, int64_t bottom, int64_t left) {
		for (int64_t i = top; i < bottom; i++) {
			for (int64_t j = left; j < columns; j++) {
				const float x = from[i * from_row + j];
				to[j * to_row + i] = relu && x < 0 ? 0 : x;
			}
		}
	};
	rest(0, whole_rows, whole_columns);
	rest(whole_rows, rows, 0);
}

// V vectors of n rows of b from row k on, whose columns do not lie side by side, as rows that lie so far apart: zeros behind the last column.
template <int W, int V>
INLINE void turn_vectors(const Product& p, int64_t column, int64_t k, int64_t n, float* to, int64_t apart) {
	const int64_t columns = least(V * W, p.columns - column);
	if (columns < V * W) {
		memset(to, 0, n * apart * sizeof(float));
	}
	turn<W>(p.b + k * p.b_step + column * p.b_column, p.b_column, columns, n, to, apart);
}

// Panel is some columns of b: where they begin, and how far a row lies from the next.
struct Panel {
	const float* first;
	int64_t step;
};

// V vectors of n rows of b from row k on, near each other where its columns do not lie side by side, or its rows would drive each other out of
// the first cache, as they do that lie multiples of 256 bytes apart, and many rows of c read them: a Zen 3 takes a tenth less time.
template <int W, int V, class Load>
INLINE Panel panel(const Product& p, int64_t column, int64_t k, int64_t n, const Load& get, float* room) {
	if (p.b_column != 1) {
		turn_vectors<W, V>(p, column, k, n, room, V * W);
		return {room, V * W};
	}
	const float* from = p.b + k * p.b_step + column;
	constexpr int64_t apart = 64, enough = 12;  // numbers, and rows for each tile
	if (V == 1 || p.b_step % apart != 0 || n > Product::near || p.rows < enough * kRows<W, V>) {
		return {from, p.b_step};
	}
	for (int64_t i = 0; i < n; i++) {
		for (int v = 0; v < V; v++) {
			store(room + (i * V + v) * W, get(from + i * p.b_step + v * W));
		}
	}
	return {room, V * W};
}

// What has been summed up before step k is added to the sums, or is what they begin with.
template <bool Begin, int W, int V, int R, class Load>
INLINE void before(const Product& p, int64_t row, int64_t column, int64_t k, Tile<W, V, R>& sums, const Load& get) {
	auto each = [&](const float* from, int64_t step, auto numbers) {
		for (int r = 0; r < R; r++) {
			for (int v = 0; v < V; v++) {
				Vec<W> there = numbers(from + (row + r) * step, column + v * W);
				sums[r][v] = Begin ? there : there + sums[r][v];
			}
		}
	};
	if (k > 0) {
		each(p.c, p.c_row, [&](const float* from, int64_t i) { return get(from + i); });
	} else if (p.start == nullptr) {
		each(nullptr, 0, [](const float*, int64_t) { return Vec<W>{}; });
	} else if (p.across) {
		each(p.start, 0, [&](const float* from, int64_t i) { return get(from + i); });
	} else {
		each(p.start, 1, [](const float* from, int64_t) { return *from - Vec<W>{}; });
	}
}

template <int W, int V, int R, class Store>
INLINE void write(const Product& p, int64_t row, int64_t column, const Tile<W, V, R>& sums, const Store& put) {
	float* c = p.c + row * p.c_row + column;
	for (int r = 0; r < R; r++, c += p.c_row) {
		for (int v = 0; v < V; v++) {
			put(c + v * W, sums[r][v]);
		}
	}
}

// What the sums of the block that begins at step k become with those before.
template <int W, int V, int R, class Load>
INLINE void total(const Product& p, int64_t row, int64_t column, int64_t k, Tile<W, V, R>& sums, const Load& get) {
	if (p.order.way == Order::added || (p.order.way == Order::replacing && (k > 0 || p.start != nullptr))) {
		before<false, W, V, R>(p, row, column, k, sums, get);
	}
}

template <int W, int V, int R, class Load, class Store>
INLINE void finish(const Product& p, int64_t row, int64_t column, int64_t k, Tile<W, V, R>& sums, const Load& get, const Store& put) {
	total<W, V, R>(p, row, column, k, sums, get);
	write<W, V, R>(p, row, column, sums, put);
}

// R rows of c, V vectors each, as far as n numbers of each row of a from step k on bring them.
template <int W, int V, int R, class Load, class Store>
INLINE void advance(const Product& p, Panel panel, int64_t row, int64_t column, int64_t k, int64_t n, const Load& get, const Store& put) {
	Tile<W, V, R> sums{};
	if (p.order.way == Order::onward) {
		before<true, W, V, R>(p, row, column, k, sums, get);
	}
	const float* a = p.a + row * p.a_row + k * p.a_step;
	const float* b = panel.first;
	const int64_t a_row = p.a_row, a_step = p.a_step, b_step = panel.step;
	for (int64_t i = 0; i < n; i++, a += a_step, b += b_step) {
		Vec<W> across[V];
		for (int v = 0; v < V; v++) {
			across[v] = get(b + v * W);
		}
		for (int r = 0; r < R; r++) {
			Vec<W> x = a[r * a_row] - Vec<W>{};  // in each lane
			for (int v = 0; v < V; v++) {
				sums[r][v] += x * across[v];
			}
		}
	}
	finish<W, V, R>(p, row, column, k, sums, get, put);
}

// As far as a block of each row of a brings V vectors: R rows at a time, which is what there are registers for, and then fewer.
template <int W, int V, int R, class Load, class Store>
INLINE void rows(const Product& p, Panel panel, int64_t row, int64_t column, int64_t k, int64_t n, const Load& get, const Store& put) {
	for (; p.rows - row >= R; row += R) {
		advance<W, V, R>(p, panel, row, column, k, n, get, put);
	}
	if constexpr (R > 1) {
		rows<W, V, R / 2>(p, panel, row, column, k, n, get, put);
	}
}

// V vectors of columns at a time, and then fewer. What is read of b in a block stays near for all rows.
template <int W, int V>
INLINE void columns(const Product& p, int64_t column, float* room) {
	constexpr int whole = V > 1 ? V * W : 1;  // the last vector may be partial
	int64_t some = (p.columns - column) / whole * whole;
	if (V == 3 && some > 0 && p.columns - column - some >= W && p.columns - column - some < 2 * W) {
		some -= whole;  // twice two vectors take less than three and one
	}
	auto part = [&]<int N>(int64_t i, auto get, auto put) {
		for (int64_t k = 0; k < p.depth; k += p.order.block) {
			const int64_t n = least(p.order.block, p.depth - k);
			Panel b{p.b + k * p.b_step + column + i, p.b_step};
			if constexpr (W < Product::whole) {
				b = panel<W, N>(p, column + i, k, n, get, room);
			}
			rows<W, N, kRows<W, N>>(p, b, 0, column + i, k, n, get, put);
		}
	};
	if constexpr (V > 1) {
		for (int64_t i = 0; i < some; i += whole) {
			part.template operator()<V>(i, [](const float* from) { return load<W>(from); }, [](float* to, Vec<W> v) { store(to, v); });
		}
		columns<W, (V + 1) / 2>(p, column + some, room);
	} else {
		in_vectors<W, 1>(some, part);
	}
}

template <int W, int V>
void multiply(const Product& p) {
	alignas(sizeof(Vec<W>)) float room[W < Product::whole ? V * W * Product::near : 1];
	columns<W, V>(p, 0, room);
}

}  // namespace
}  // namespace tg::matrices
