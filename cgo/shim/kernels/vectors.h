// Vectors of any width, and products of matrices of them. What is here has no name outside of the file that includes it, and calls no
// function of a library that would be compiled for one processor and run on another.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "instructions.h"
#include "number.h"

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
struct Integers {
	typedef int32_t type __attribute__((vector_size(W * sizeof(int32_t))));
};

// As many whole numbers.
template <int W>
using Ints = typename Integers<W>::type;

// f is called for 0 to N-1 in a row without a loop, so that arrays it indexes stay in registers.
template <int N, class F>
INLINE void unrolled(const F& f) {
	[&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
		(f(i), ...);
	}(std::make_integer_sequence<int, N>());
}

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

// The first n numbers of a vector; what is behind them is not touched.
#if defined(TG_AVX512)
INLINE __mmask16 first_of(int64_t n) { return static_cast<__mmask16>((1 << n) - 1); }

template <int W>
INLINE Vec<W> load_some(const float* from, int64_t n) {
	return (Vec<W>)_mm512_maskz_loadu_ps(first_of(n), from);
}

template <class V>
INLINE void store_some(float* to, V v, int64_t n) {
	_mm512_mask_storeu_ps(to, first_of(n), (__m512)v);
}
#elif defined(__AVX2__)
INLINE __m256i first_of(int64_t n) {
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

template <int W>
INLINE Vec<W> load_some(const float* from, int64_t n) {
	return (Vec<W>)_mm256_maskload_ps(from, first_of(n));
}

template <class V>
INLINE void store_some(float* to, V v, int64_t n) {
	_mm256_maskstore_ps(to, first_of(n), (__m256)v);
}
#else
template <int W>
INLINE Vec<W> load_some(const float* from, int64_t n) {
	Vec<W> v{};
	for (int64_t i = 0; i < n; i++) {
		v[i] = from[i];
	}
	return v;
}

template <class V>
INLINE void store_some(float* to, V v, int64_t n) {
	for (int64_t i = 0; i < n; i++) {
		to[i] = v[i];
	}
}
#endif

// The first n numbers from one place on, and behind them those from another on.
template <int W>
INLINE Vec<W> load_both(const float* first, int64_t n, const float* second) {
#if defined(TG_AVX512)
	const auto behind = _mm512_maskz_loadu_ps(static_cast<__mmask16>(~first_of(n)), second - n);
	return (Vec<W>)((Ints<W>)load_some<W>(first, n) | (Ints<W>)behind);
#else
	Vec<W> v;
	for (int64_t i = 0; i < W; i++) {
		v[i] = i < n ? first[i] : second[i - n];
	}
	return v;
#endif
}

// Whether some of a comparison's lanes hold.
template <class I>
INLINE bool any(I lanes) {
#if defined(TG_AVX512)
	return _mm512_test_epi32_mask((__m512i)lanes, (__m512i)lanes) != 0;
#elif defined(__AVX2__)
	return !_mm256_testz_si256((__m256i)lanes, (__m256i)lanes);
#else
	bool some = false;
	for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++) {
		some |= lanes[i] != 0;
	}
	return some;
#endif
}

template <int W>
INLINE float sum_of(Vec<W> v) {
	float sum = 0;
	for (int i = 0; i < W; i++) {
		sum += v[i];
	}
	return sum;
}

// ReLU, or zeros where other numbers are not positive. What is no number stays what it is.
template <class V>
INLINE V rectified(V x) {
	return x < V{} ? V{} : x;
}

template <class V>
INLINE V rectified(V x, V by) {
	return by <= V{} ? V{} : x;
}

// Each larger or smaller one of two numbers, and the second where one is none, in one instruction.
template <class V>
INLINE V larger(V a, V b) {
#if defined(TG_AVX512)
	return (V)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
	return (V)_mm256_max_ps((__m256)a, (__m256)b);
#else
	return a > b ? a : b;
#endif
}

template <class V>
INLINE V smaller(V a, V b) {
#if defined(TG_AVX512)
	return (V)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
	return (V)_mm256_min_ps((__m256)a, (__m256)b);
#else
	return a < b ? a : b;
#endif
}

// a x b + c, rounded once.
template <class V>
INLINE V multiplied_and_added(V a, V b, V c) {
#if defined(TG_AVX512)
	return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
	return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
	return a * b + c;
#endif
}

template <class V>
INLINE V square_root(V a) {
#if defined(TG_AVX512)
	return (V)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX2__)
	return (V)_mm256_sqrt_ps((__m256)a);
#else
	for (size_t i = 0; i < sizeof a / sizeof a[0]; i++) {
		a[i] = __builtin_sqrtf(a[i]);
	}
	return a;
#endif
}

// What has been rounded, of which the compiler does not make one instruction with what comes next.
template <class V>
INLINE V rounded(V a) {
#if defined(TG_EMULATED)
	asm("" : "+m"(a));
#elif defined(__AVX2__)
	asm("" : "+v"(a));
#endif
	return a;
}

// Numbers as they lie, as many as fill a vector.
template <int W, class N>
INLINE Vec<W> lying(const N* from) {
	Vec<W> v;
	memcpy(&v, from, sizeof v);
	return v;
}

// The numbers at x that are multiplied together, in each place of a vector. Alone is the last one of a row, where nothing lies behind it.
template <int W, bool Alone>
INLINE Vec<W> across(const float* x) {
	return *x - Vec<W>{};
}

// Such numbers times weights, added to sums.
template <int W>
INLINE Vec<W> add_product(Vec<W> sums, const float*, Vec<W> numbers, Vec<W> weights) {
	return sums + numbers * weights;
}

#if defined(TG_BFLOAT16)
template <int W>
INLINE Vec<W> load(const BFloat16* from) {
	return (Vec<W>)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16);
}

template <int W>
INLINE Vec<W> load_some(const BFloat16* from, int64_t n) {
	return (Vec<W>)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first_of(n), from)), 16);
}

template <int W>
INLINE Vec<W> load_both(const BFloat16* first, int64_t n, const BFloat16* second) {
	const auto behind = _mm256_maskz_loadu_epi16(static_cast<__mmask16>(~first_of(n)), second - n);
	return (Vec<W>)((Ints<W>)load_some<W>(first, n) | (Ints<W>)_mm512_slli_epi32(_mm512_cvtepu16_epi32(behind), 16));
}

template <class V>
INLINE void store(BFloat16* to, V v) {
	_mm256_storeu_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh((__m512)v));
}

template <class V>
INLINE void store_some(BFloat16* to, V v, int64_t n) {
	_mm256_mask_storeu_epi16(to, first_of(n), (__m256i)_mm512_cvtneps_pbh((__m512)v));
}

template <int W, bool Alone>
INLINE Vec<W> across(const BFloat16* x) {
	int32_t two = x->bits;
	if (!Alone) {
		memcpy(&two, x, sizeof two);
	}
	return (Vec<W>)_mm512_set1_epi32(two);
}

template <int W>
INLINE Vec<W> add_product(Vec<W> sums, const BFloat16*, Vec<W> numbers, Vec<W> weights) {
	return (Vec<W>)_mm512_dpbf16_ps((__m512)sums, (__m512bh)numbers, (__m512bh)weights);
}
#endif

// A vector, or the first n numbers of one where there are no more.
template <int W, class N>
INLINE Vec<W> load_at_most(const N* from, int64_t n) {
	return n < W ? load_some<W>(from, n) : load<W>(from);
}

// The same of what is stored.
template <class N, class V>
INLINE void store_at_most(N* to, V v, int64_t n) {
	n < static_cast<int64_t>(sizeof v / sizeof v[0]) ? store_some(to, v, n) : store(to, v);
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// All of some numbers, V vectors at a time and then one, of which the last may be partial: part<N> is told where its N vectors begin, and how
// one is loaded and stored.
template <int W, int V, class Part>
INLINE void in_vectors(int64_t numbers, const Part& part) {
	auto load_whole = [](const auto* from) { return load<W>(from); };
	auto store_whole = [](auto* to, Vec<W> v) { store(to, v); };
	int64_t i = 0;
	for (; i + V * W <= numbers; i += V * W) {
		part.template operator()<V>(i, load_whole, store_whole);
	}
	for (; i + W <= numbers; i += W) {
		part.template operator()<1>(i, load_whole, store_whole);
	}
	if (int64_t rest = numbers - i; rest > 0) {
		part.template operator()<1>(i, [=](const auto* from) { return load_some<W>(from, rest); },
		                            [=](auto* to, Vec<W> v) { store_some(to, v, rest); });
	}
}

// The rows from first to last, R at a time and then fewer: run<N> is told where N of them begin.
template <int R, class Do>
INLINE void in_rows(int64_t first, int64_t last, const Do& run) {
	for (; first + R <= last; first += R) {
		run.template operator()<R>(first);
	}
	if constexpr (R > 1) {
		in_rows<R - 1>(first, last, run);
	}
}

// Sums of R rows, V vectors each.
template <int W, int V, int R>
struct Sums {
	Vec<W> rows[R][V];
};

// Ahead is what of a panel is brought nearer while so many rows meet the panel before it.
template <class N>
struct Ahead {
	const N* next;
	int64_t rows;
};

// Weights are a panel, or Q that lie so far apart, of as many vectors each.
template <class N, int Q = 1>
struct Weights {
	const N* panel;
	int64_t apart = 0;
};

template <class N>
Weights(const N*) -> Weights<N>;

// R rows times V vectors of weights for as many of their numbers as are multiplied together, added to start. A row is in parts of n numbers,
// step apart. Where there are few sums, each is made of some that do not wait for each other.
template <int W, int V, int R, class N, int Q>
INLINE Sums<W, V, R> product(const N* const* from, int64_t parts, int64_t step, Weights<N, Q> by, int64_t n, const Vec<W>* start,
                             Ahead<N>& ahead) {
	constexpr int P = together<N>, S = R * V >= 8 ? 1 : R * V >= 4 ? 2 : 4, each = V / Q;
	constexpr int line = 64 / sizeof(N), lines = (V * P * W + line - 1) / line;
	const int64_t some = (V * P * W / lines * R + ahead.rows - 1) / ahead.rows;
	const N* next = ahead.next;
	Sums<W, V, R> sums[S];
	const N* rows[R];
	for (int r = 0; r < R; r++) {
		rows[r] = from[r];
		for (int i = 0; i < S * V; i++) {
			sums[i / V].rows[r][i % V] = i < V ? start[i] : Vec<W>{};
		}
	}
	auto add = [&]<bool Alone>(int64_t k, int s) __attribute__((always_inline)) {
		for (int i = 0; i < lines; i++, next += some) {
			__builtin_prefetch(next, 0, 2);
		}
		Vec<W> weights[V];
		for (int v = 0; v < V; v++) {
			weights[v] = lying<W>(by.panel + v / each * by.apart + v % each * P * W);
		}
		for (int r = 0; r < R; r++) {
			auto numbers = across<W, Alone>(rows[r] + k);
			for (int v = 0; v < V; v++) {
				sums[s].rows[r][v] = add_product<W>(sums[s].rows[r][v], rows[r], numbers, weights[v]);
			}
		}
		by.panel += each * P * W;
	};
	for (int64_t part = 0; part < parts; part++) {
		int64_t k = 0;
		for (; k + S * P <= n; k += S * P) {
			for (int s = 0; s < S; s++) {
				add.template operator()<false>(k + s * P, s);
			}
		}
		for (; k + P <= n; k += P) {
			add.template operator()<false>(k, 0);
		}
		if (P > 1 && k < n) {
			add.template operator()<true>(k, 0);
		}
		for (int r = 0; r < R; r++) {
			rows[r] += step;
		}
	}
	ahead.next = next;
	for (int s = 1; s < S; s++) {
		for (int r = 0; r < R; r++) {
			for (int v = 0; v < V; v++) {
				sums[0].rows[r][v] += sums[s].rows[r][v];
			}
		}
	}
	return sums[0];
}

// Blocks of R rows, and then of fewer.
template <int W, int V, int R, class N, int Q, class At, class Done>
INLINE void in_blocks(int64_t first, int64_t last, At& at, int64_t parts, int64_t step, Weights<N, Q> by, int64_t n, const Vec<W>* start,
                      const Done& done, Ahead<N>& ahead) {
	for (; last - first >= R; first += R) {
		const N* rows[R];
		for (int r = 0; r < R; r++) {
			rows[r] = at(first + r);
		}
		done(first, product<W, V, R>(rows, parts, step, by, n, start, ahead));
	}
	if constexpr (R > 1) {
		in_blocks<W, V, (R > 6 ? 6 : R > 4 ? 4 : R / 2)>(first, last, at, parts, step, by, n, start, done, ahead);
	}
}

// Rows from first to last: as many at a time as there are registers for, then fewer. at tells where a row is, and is asked for one after
// the other; done takes the sums of some rows from one on. Meanwhile the weights behind these, which come from afar, are brought nearer,
// with each row as much of them: all at once would have to wait for memory, and drive out what is in use.
template <int W, int V, int R, class N, int Q, class At, class Done>
INLINE void products(int64_t first, int64_t last, At& at, int64_t parts, int64_t step, Weights<N, Q> by, int64_t n, const Vec<W>* start,
                     const Done& done) {
	Ahead<N> ahead{by.panel + parts * whole(n, together<N>) * V * W, last - first};
	in_blocks<W, V, R>(first, last, at, parts, step, by, n, start, done, ahead);
}

}  // namespace
}  // namespace tg::convolution
