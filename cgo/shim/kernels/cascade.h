// Sums of the columns of a matrix in libtorch's order: sixteen rows are added up, sixteen such sums, and so on.
#pragma once

#include "vectors.h"

namespace tg::sums {
namespace {

using convolution::Vec;

// What V vectors of n rows sum up to, which lie apart.
template <int W, int V, class Load>
INLINE void cascade(const float* x, int64_t n, int64_t apart, const Load& get, Vec<W>* to) {
	constexpr int levels = 4, power = 4, some = 1 << power;
	Vec<W> sums[levels][V]{};
	int64_t i = 0;
	auto add = [&]() __attribute__((always_inline)) {
		for (int v = 0; v < V; v++) {
			sums[0][v] += get(x + v * W);
		}
		x += apart;
	};
	while (i + some <= n) {
		for (int k = 0; k < some; k++) {
			add();
		}
		i += some;
		for (int level = 1; level < levels; level++) {
			for (int v = 0; v < V; v++) {
				sums[level][v] += sums[level - 1][v];
				sums[level - 1][v] = Vec<W>{};
			}
			if ((i >> level * power) % some != 0) {
				break;
			}
		}
	}
	for (; i < n; i++) {
		add();
	}
	for (int v = 0; v < V; v++) {
		to[v] = sums[0][v];
		for (int level = 1; level < levels; level++) {
			to[v] += sums[level][v];
		}
	}
}

// The sums of each column. Those behind the last that libtorch sums up four, or four vectors, at a time are made of each fourth row's.
template <int W>
void sum_columns(const float* x, int64_t rows, int64_t columns, float* to) {
	constexpr int64_t four = 4, theirs = 8;  // numbers of libtorch's vectors
	const int64_t unit = columns < theirs ? four : four * theirs, whole = columns / unit * unit;
	convolution::in_vectors<W, 4>(whole, [&]<int N>(int64_t i, auto get, auto put) {
		Vec<W> sums[N];
		cascade<W, N>(x + i, rows, columns, get, sums);
		for (int v = 0; v < N; v++) {
			put(to + i + v * W, sums[v]);
		}
	});
	convolution::in_vectors<W, 1>(columns - whole, [&]<int>(int64_t i, auto get, auto put) {
		const float* from = x + whole + i;
		Vec<W> parts[four];
		for (int64_t k = 0; k < four; k++) {
			cascade<W, 1>(from + k * columns, rows / four, four * columns, get, parts + k);
		}
		for (int64_t row = rows / four * four; row < rows; row++) {
			parts[0] += get(from + row * columns);
		}
		for (int64_t k = 1; k < four; k++) {
			parts[0] += parts[k];
		}
		put(to + whole + i, parts[0]);
	});
}

}  // namespace
}  // namespace tg::sums
