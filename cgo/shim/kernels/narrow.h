// Linear layers whose weights are kept in fewer bits than float32, in which they are multiplied: few rows take the time in which weights come
// from memory, which is a half of float32's, or a quarter.
#pragma once

#include "direct.h"

namespace tg::convolution {
namespace {

// A vector of weights as float32.
template <int W>
INLINE Vec<W> widened(const BFloat16* from) {
#if defined(TG_AVX512)
	return (Vec<W>)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16);
#elif defined(__AVX2__)
	return (Vec<W>)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)from)), 16);
#else
	Ints<W> bits;
	for (int i = 0; i < W; i++) {
		bits[i] = static_cast<int32_t>(static_cast<uint32_t>(from[i].bits) << 16);
	}
	return (Vec<W>)bits;
#endif
}

template <int W>
INLINE Vec<W> widened(const int8_t* from) {
#if defined(TG_AVX512)
	return (Vec<W>)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)from)));
#elif defined(__AVX2__)
	return (Vec<W>)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from)));
#else
	Vec<W> v;
	for (int i = 0; i < W; i++) {
		v[i] = from[i];
	}
	return v;
#endif
}

// R rows times a panel of V vectors. Where these are few sums, each is made of some that do not wait for each other.
template <class N, int W, int V, int R>
INLINE Sums<W, V, R> narrow_product(const float* const* rows, const N* panel, int64_t depth) {
	constexpr int S = R * V >= 8 ? 1 : 8 / (R * V);
	constexpr int64_t ahead = 2048 / static_cast<int64_t>(sizeof(N));
	Sums<W, V, R> sums[S]{};
	auto add = [&](int64_t k, int s) __attribute__((always_inline)) {
		__builtin_prefetch(panel + ahead, 0, 2);
		Vec<W> weights[V];
		for (int v = 0; v < V; v++) {
			weights[v] = widened<W>(panel + v * W);
		}
		for (int r = 0; r < R; r++) {
			for (int v = 0; v < V; v++) {
				sums[s].rows[r][v] += rows[r][k] * weights[v];
			}
		}
		panel += V * W;
	};
	int64_t k = 0;
	for (; k + S <= depth; k += S) {
		unrolled<S>([&](int s) __attribute__((always_inline)) { add(k + s, s); });
	}
	for (; k < depth; k++) {
		add(k, 0);
	}
	for (int s = 1; s < S; s++) {
		unrolled<R * V>([&](int i) __attribute__((always_inline)) { sums[0].rows[i / V][i % V] += sums[s].rows[i / V][i % V]; });
	}
	return sums[0];
}

// What sums of a panel of V vectors become: times their scale unless it is null, with their bias, and activated.
template <int W, int V>
struct Scaled {
	const Task& t;
	int64_t output;
	Vec<W> bias[V], scales[V];

	Scaled(const Task& task, const float* scale, int64_t vector) : t(task), output(vector * W) {
		biases<W, V>(t, output, bias);
		for (int v = 0; v < V; v++) {
			scales[v] = scale ? load_at_most<W>(scale + output + v * W, t.outputs - output - v * W) : Vec<W>{} + 1.0f;
		}
	}

	template <int R>
	INLINE void operator()(int64_t row, Sums<W, V, R> sums) const {
		unrolled<R * V>([&](int i) __attribute__((always_inline)) {
			sums.rows[i / V][i % V] = sums.rows[i / V][i % V] * scales[i % V] + bias[i % V];
		});
		finish<float>(t, sums, row * t.outputs + output, output);
	}
};

INLINE const float* row_of(const Task& t, int64_t row) { return static_cast<const float*>(t.x) + row * t.channels; }

// Rows times weights that were widened to room, M at a time. It is compiled once for all that weights may have been.
template <int W, int V, int M>
__attribute__((noinline)) void widened_product(const Task& t, const float* scale, int64_t vector, int64_t first, int64_t last, const float* room) {
	const Scaled<W, V> done(t, scale, vector);
	const Vec<W> zeros[V]{};
	auto at = [&](int64_t row) { return row_of(t, row); };
	products<W, V, M>(first, last, at, 1, 0, Weights{room}, t.channels, zeros, done);
}

// The outputs of a panel of V vectors. More than a few rows meet weights in float32.
template <class N, int W, int V, int M>
void narrow(const Task& t, const float* scale, int64_t vector, int64_t first, int64_t last, float* room) {
	const N* panel = static_cast<const N*>(t.weight) + vector * W * t.channels;
	if (last - first > kFewRows) {
		for (int64_t i = 0; i < V * t.channels; i++) {
			store(room + i * W, widened<W>(panel + i * W));
		}
		return widened_product<W, V, M>(t, scale, vector, first, last, room);
	}
	const Scaled<W, V> done(t, scale, vector);
	in_rows<kFewRows>(first, last, [&]<int R>(int64_t row) __attribute__((always_inline)) {
		const float* rows[R];
		for (int r = 0; r < R; r++) {
			rows[r] = row_of(t, row + r);
		}
		done(row, narrow_product<N, W, V, R>(rows, panel, t.channels));
	});
}

}  // namespace
}  // namespace tg::convolution
