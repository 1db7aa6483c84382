// What is made of short rows, a vector of them at once: each row has a lane, in which its numbers are added in turn, as libtorch adds those of
// a vector that is not whole.
#pragma once

#include "multiply.h"
#include "shortrows.h"

namespace tg::rows {
namespace {

using convolution::Ints;
using convolution::least;
using convolution::Vec;

template <int W>
using Function = Vec<W>(Vec<W>);

// The columns of n rows, and back.
template <int W>
INLINE void load_columns(const float* rows, int64_t n, int64_t columns, Vec<W>* to) {
	for (int i = 0; i < W; i++) {
		to[i] = i < n ? convolution::load_some<W>(rows + i * columns, columns) : Vec<W>{};
	}
	matrices::turn_square<W>(to);
}

template <int W>
INLINE void store_columns(Vec<W>* from, int64_t n, int64_t columns, float* rows) {
	matrices::turn_square<W>(from);
	for (int i = 0; i < W && i < n; i++) {
		convolution::store_some(rows + i * columns, from[i], columns);
	}
}

// The larger one of two numbers, or, where one is none, none, with all bits set.
template <int W>
INLINE Vec<W> maximum(Vec<W> a, Vec<W> b) {
	return (Vec<W>)((Ints<W>)convolution::larger(a, b) | (a != a) | (b != b));
}

// c - a * b, rounded once. Of several that are none, the instruction hands on that one which it hands on in libtorch's.
template <int W>
INLINE Vec<W> product_subtracted(Vec<W> a, Vec<W> b, Vec<W> c) {
#if !defined(TG_EMULATED) && (defined(__FMA__) || defined(TG_AVX512))
	asm("vfnmadd132ps %2, %1, %0" : "+v"(a) : "v"(c), "v"(b));
	return a;
#else
	return c - a * b;
#endif
}

// The rows from first to last.
template <int W>
void log_softmax(const ShortRows& r, int64_t first, int64_t last) {
	auto* exp = reinterpret_cast<Function<W>*>(r.exp);
	auto* log = reinterpret_cast<Function<W>*>(r.log);
	Vec<W> x[W];
	for (; first < last; first += W) {
		const int64_t n = least(W, last - first);
		load_columns<W>(r.x + first * r.columns, n, r.columns, x);
		Vec<W> most = x[0];
		for (int64_t i = 1; i < r.columns; i++) {
			most = maximum<W>(most, x[i]);
		}
		Vec<W> sum = exp(x[0] - most);
		for (int64_t i = 1; i < r.columns; i++) {
			sum += exp(x[i] - most);
		}
		sum = log(sum);
		for (int64_t i = 0; i < r.columns; i++) {
			x[i] = x[i] - most - sum;
		}
		store_columns<W>(x, n, r.columns, r.to + first * r.columns);
	}
}

template <int W>
void log_softmax_derivative(const ShortRows& r, int64_t first, int64_t last) {
	auto* exp = reinterpret_cast<Function<W>*>(r.exp);
	Vec<W> x[W], y[W];
	for (; first < last; first += W) {
		const int64_t n = least(W, last - first);
		load_columns<W>(r.x + first * r.columns, n, r.columns, x);
		load_columns<W>(r.y + first * r.columns, n, r.columns, y);
		Vec<W> sum = x[0];
		for (int64_t i = 1; i < r.columns; i++) {
			sum += x[i];
		}
		for (int64_t i = 0; i < r.columns; i++) {
			x[i] = product_subtracted<W>(exp(y[i]), sum, x[i]);
		}
		store_columns<W>(x, n, r.columns, r.to + first * r.columns);
	}
}

}  // namespace
}  // namespace tg::rows
