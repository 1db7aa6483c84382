// Vectors of any width, and products of matrices of them. What is here has no name outside of the file that includes it, and calls no
// function of a library that would be compiled for one processor and run on another.
#pragma once

#include <cstdint>
#include <cstring>

#define INLINE inline __attribute__((always_inline))

namespace tg::convolution {
namespace {

template <int W>
struct Vector {
	typedef float type __attribute__((vector_size(W * sizeof(float))));
};

template <int W>
using Vec = typename Vector<W>::type;

template <int W>
INLINE Vec<W> load(const float* from) {
	Vec<W> v;
	memcpy(&v, from, sizeof v);
	return v;
}

template <class V>
INLINE void store(float* to, V v) {
	memcpy(to, &v, sizeof v);
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// R rows times a panel of two vectors for each of their numbers. A row is in parts of n numbers, step apart.
template <int W, int R, class Done>
INLINE void product(const float* const* from, int64_t parts, int64_t step, const float* panel, int64_t n, const Done& done) {
	Vec<W> sums[R][2];
	const float* rows[R];
	for (int r = 0; r < R; r++) {
		sums[r][0] = sums[r][1] = Vec<W>{};
		rows[r] = from[r];
	}
	for (int64_t part = 0; part < parts; part++) {
		for (int64_t k = 0; k < n; k++, panel += 2 * W) {
			Vec<W> left = load<W>(panel), right = load<W>(panel + W);
			for (int r = 0; r < R; r++) {
				Vec<W> x = rows[r][k] - Vec<W>{};  // in each lane
				sums[r][0] += x * left;
				sums[r][1] += x * right;
			}
		}
		for (int r = 0; r < R; r++) {
			rows[r] += step;
		}
	}
	for (int r = 0; r < R; r++) {
		done(r, sums[r][0], sums[r][1]);
	}
}

// Rows from first to last: as many at a time as there are registers for, then fewer. at tells where a row is, done takes its results.
template <int W, int R, class At, class Done>
INLINE void products(int64_t first, int64_t last, const At& at, int64_t parts, int64_t step, const float* panel, int64_t n,
                     const Done& done) {
	for (; last - first >= R; first += R) {
		const float* rows[R];
		for (int r = 0; r < R; r++) {
			rows[r] = at(first + r);
		}
		product<W, R>(rows, parts, step, panel, n, [&](int r, Vec<W> left, Vec<W> right) { done(first + r, left, right); });
	}
	if constexpr (R > 1) {
		products<W, (R > 6 ? 6 : R > 4 ? 4 : R / 2)>(first, last, at, parts, step, panel, n, done);
	}
}

}  // namespace
}  // namespace tg::convolution
