// Chains of operators that compute each number by itself: blocks of numbers go through all of them while they are near. Each operator
// rounds as libtorch's does, since each is one instruction, or none that rounds.
#pragma once

#include "chain.h"
#include "vectors.h"

namespace tg::elementwise {

namespace {

using convolution::load;
using convolution::load_some;
using convolution::store;
using convolution::store_some;
using convolution::Vec;

template <int W, class F>
INLINE void each(const float* a, const float* b, int64_t n, float* to, const F& f) {
	int64_t i = 0;
	for (; i + W <= n; i += W) {
		store(to + i, f(load<W>(a + i), load<W>(b + i)));
	}
	if (i < n) {
		store_some(to + i, f(load_some<W>(a + i, n - i), load_some<W>(b + i, n - i)), n - i);
	}
}

template <int W>
INLINE Vec<W> magnitude(Vec<W> v) {
	typedef int32_t Bits __attribute__((vector_size(W * sizeof(int32_t))));
	return (Vec<W>)((Bits)v & 0x7fffffff);
}

template <int W>
INLINE void compute(int64_t op, const float* a, const float* b, int64_t n, float* to) {
	using V = Vec<W>;
	switch (op) {
	case kAdd:
		return each<W>(a, b, n, to, [](V x, V y) { return x + y; });
	case kSub:
		return each<W>(a, b, n, to, [](V x, V y) { return x - y; });
	case kMul:
		return each<W>(a, b, n, to, [](V x, V y) { return x * y; });
	case kDiv:
		return each<W>(a, b, n, to, [](V x, V y) { return x / y; });
	case kNeg:
		return each<W>(a, a, n, to, [](V x, V) { return -x; });
	case kAbs:
		return each<W>(a, a, n, to, [](V x, V) { return magnitude<W>(x); });
	default:  // ReLU
		return each<W>(a, a, n, to, [](V x, V) { return convolution::rectified(x); });
	}
}

// ReLU of n numbers where they are, or, with other ones, zeros where those are not positive.
template <int W>
void rectify(const float* by, int64_t n, float* to) {
	using V = Vec<W>;
	if (by == nullptr) {
		return compute<W>(kRelu, to, to, n, to);
	}
	each<W>(by, to, n, to, [](V limit, V x) { return convolution::rectified(x, limit); });
}

// The numbers from first to last.
template <int W>
void elementwise(const Chain& t, int64_t first, int64_t last, float* room) {
	for (; first < last; first += kBlock) {
		int64_t n = last - first < kBlock ? last - first : kBlock;
		auto value = [&](int64_t v) {
			return v < t.inputs ? t.input[v] + first * t.advance[v] : room + (v - t.inputs) * kBlock;
		};
		for (int64_t i = 0; i < t.length; i++) {
			const Step& s = t.steps[i];
			compute<W>(s.op, value(s.a), value(s.b), n, i + 1 < t.length ? room + s.to * kBlock : t.y + first);
		}
	}
}

}  // namespace
}  // namespace tg::elementwise
