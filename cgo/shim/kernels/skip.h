// Products of a matrix with many zeros, as ReLU leaves them and its gradient has them: what a zero would add to a sum is left out. The bits
// are those of all products, in the same order, where what meets the zeros is finite and no sum ends as a negative zero. A zero that is
// added changes a sum only if that is a negative zero, which becomes positive; the next product that is not zero makes both the same again,
// and without one the sum ends here as the negative zero that is looked for.
#pragma once

#include <array>
#include <limits>

#include "multiply.h"
#include "updates.h"

namespace tg::matrices {
namespace {

// A number, and how far behind the first the row lies that it meets, in one word, which is loaded at once.
INLINE uint64_t picked(float number, int64_t apart) {
	uint32_t bits;
	memcpy(&bits, &number, sizeof bits);
	return static_cast<uint64_t>(apart) << 32 | bits;
}

#if defined(__AVX2__) && !defined(TG_AVX512)
// The places of the bits of a number, one in each byte: which of eight lanes come first.
constexpr std::array<uint64_t, 256> kPicked = [] {
	std::array<uint64_t, 256> list{};
	for (size_t bits = 0; bits < list.size(); bits++) {
		int count = 0;
		for (uint64_t lane = 0; lane < 8; lane++) {
			if (bits >> lane & 1) {
				list[bits] |= lane << (8 * count++);
			}
		}
	}
	return list;
}();
#endif

// pick takes what is not zero from one row of a, whose numbers lie side by side.
template <int W>
void pick(const float* row, int64_t depth, int64_t piece, int64_t vectors, uint64_t* words, int64_t* counts) {
	const int64_t apart = vectors * W * sizeof(float);
	for (int64_t first = 0; first < depth; first += piece, row += piece, words += piece) {
		const int64_t n = least(piece, depth - first);
		int64_t count = 0, i = 0;
#if defined(TG_AVX512)
		static_assert(W == 16);
		using I = convolution::Ints<W>;
		const I lanes = I{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} * static_cast<int32_t>(apart);
		const I lower{0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23}, upper = lower + 8;
		for (; i + W <= n; i += W) {
			__m512 x = _mm512_loadu_ps(row + i);
			__mmask16 some = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_UQ);
			__m512i numbers = _mm512_castps_si512(_mm512_maskz_compress_ps(some, x));
			__m512i places = _mm512_maskz_compress_epi32(some, (__m512i)(lanes + static_cast<int32_t>(i * apart)));
			_mm512_storeu_si512(words + count, _mm512_permutex2var_epi32(numbers, (__m512i)lower, places));
			const int more = __builtin_popcount(some);
			if (more > W / 2) {
				_mm512_storeu_si512(words + count + W / 2, _mm512_permutex2var_epi32(numbers, (__m512i)upper, places));
			}
			count += more;
		}
#elif defined(__AVX2__)
		static_assert(W == 8);
		using I = convolution::Ints<W>;
		const I lanes = I{0, 1, 2, 3, 4, 5, 6, 7} * static_cast<int32_t>(apart);
		for (; i + W <= n; i += W) {
			__m256 x = _mm256_loadu_ps(row + i);
			const int some = _mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NEQ_UQ));
			__m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&kPicked[some])));
			__m256i numbers = _mm256_permutevar8x32_epi32(_mm256_castps_si256(x), order);
			__m256i places = _mm256_permutevar8x32_epi32((__m256i)(lanes + static_cast<int32_t>(i * apart)), order);
			__m256i even = _mm256_unpacklo_epi32(numbers, places), odd = _mm256_unpackhi_epi32(numbers, places);
			auto* to = reinterpret_cast<__m256i*>(words + count);
			_mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
			_mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
			count += __builtin_popcount(some);
		}
#endif
		for (; i < n; i++) {
			words[count] = picked(row[i], i * apart);
			count += row[i] != 0;
		}
		*counts++ = count;
	}
}

// gather lays V vectors of n rows of b near each other, and tells whether all of them are finite.
template <int W, int V, class Load>
INLINE bool gather(const Product& p, int64_t column, int64_t k, int64_t n, const Load& get, float* to) {
	const float* from = p.b + k * p.b_step + column * p.b_column;
	const bool lies = p.b_column == 1;
	const int64_t apart = p.picked.vectors * W;
	if (!lies) {
		turn_vectors<W, V>(p, column, k, n, to, apart);
	}
	Vec<W> nothing{};
	for (int64_t i = 0; i < n; i++) {
		for (int v = 0; v < V; v++) {
			float* at = to + i * apart + v * W;
			Vec<W> numbers = lies ? get(from + i * p.b_step + v * W) : load<W>(at);
			nothing += numbers * 0.0f;
			if (lies) {
				store(at, numbers);
			}
		}
	}
	return !any(nothing != nothing);
}

// What a picked number adds to V vectors of sums. It goes through a register, since those that load vectors have enough to do.
template <int W, int V>
INLINE void add(uint64_t word, const float* room, Vec<W>* sums) {
	auto x = (Vec<W>)(static_cast<int32_t>(word) - convolution::Ints<W>{});  // in each lane
	const char* row = reinterpret_cast<const char*>(room) + (word >> 32);
	for (int v = 0; v < V; v++) {
		sums[v] += x * convolution::lying<W>(row + v * sizeof(Vec<W>));
	}
}

// What all of them up to the end add.
template <int W, int V>
INLINE void add(const uint64_t* words, const uint64_t* end, const float* room, Tile<W, V, 1>& to) {
	Vec<W> sums[V];
	for (int v = 0; v < V; v++) {
		sums[v] = to[0][v];
	}
	for (; words < end; words++) {
		add<W, V>(*words, room, sums);
	}
	for (int v = 0; v < V; v++) {
		to[0][v] = sums[v];
	}
}

// The sums of n numbers of a row, whether zero or not.
template <int W, int V>
INLINE void add_all(const float* numbers, int64_t n, int64_t apart, const float* room, Tile<W, V, 1>& to) {
	for (auto& sum : to[0]) {
		sum = Vec<W>{};
	}
	for (int64_t i = 0; i < n; i++, room += apart) {
		Vec<W> x = numbers[i] - Vec<W>{};
		for (int v = 0; v < V; v++) {
			to[0][v] += x * load<W>(room + v * W);
		}
	}
}

// The least bits of sums, as whole numbers, of which a negative zero's are the least of all.
template <int W, int V>
INLINE void see(const Tile<W, V, 1>& sums, convolution::Ints<W>& least_bits) {
	for (int v = 0; v < V; v++) {
		auto bits = (convolution::Ints<W>)sums[0][v];
		least_bits = bits < least_bits ? bits : least_bits;
	}
}

template <class I>
INLINE bool has_negative_zero(I least_bits) {
	return any(least_bits == std::numeric_limits<int32_t>::min());
}

// What V vectors of whole sums become.
template <int W, int V, class Load>
INLINE void rectify(const Product& p, int64_t row, int64_t column, Tile<W, V, 1>& sums, const Load& get) {
	const float* by = p.ending.by != nullptr ? p.ending.by + row * p.c_row + column : nullptr;
	for (int v = 0; v < V; v++) {
		Vec<W>& x = sums[0][v];
		x = by == nullptr ? convolution::rectified(x) : convolution::rectified(x, get(by + v * W));
	}
}

// V vectors of all rows of c; false if b is not finite there, or a sum ends as a negative zero.
template <int W, int V, class Load, class Store>
INLINE bool skip(const Product& of, int64_t column, float* room, const Load& get, const Store& put) {
	const Product p = of;  // no number that is written lies in it: what is read between rows takes a turn from vectors
	const int64_t block = p.block(), piece = p.picked.piece, pieces = p.pieces();
	const bool onward = p.order.way == Order::onward;
	convolution::Ints<W> least_bits{};
	for (int64_t k = 0, at = 0; k < p.depth; k += piece, at++) {
		const bool ends = k + piece >= p.depth || (!onward && (k + piece) % block == 0);
		if (!gather<W, V>(p, column, k, least(piece, p.depth - k), get, room)) {
			return false;
		}
		for (int64_t row = 0; row < p.rows; row++) {
			Tile<W, V, 1> sums{};
			if (onward || k % block != 0) {
				before<true, W, V, 1>(p, row, column, k, sums, get);
			}
			const uint64_t* words = p.picked.words + row * p.depth + k;
			add<W, V>(words, words + p.picked.counts[row * pieces + at], room, sums);
			if (!ends) {
				write<W, V, 1>(p, row, column, sums, put);
				continue;
			}
			see<W, V>(sums, least_bits);
			total<W, V, 1>(p, row, column, k / block * block, sums, get);
			if (p.ending.rectified && k + piece >= p.depth) {
				rectify<W, V>(p, row, column, sums, get);
			}
			write<W, V, 1>(p, row, column, sums, put);
		}
	}
	return !has_negative_zero(least_bits);
}

// Calls f for each time: unrolled for the rules that most have, since the others' code is several times as long.
template <bool Unrolled, int Times, class F>
INLINE void each(const F& f) {
	if constexpr (Unrolled) {
		unrolled<Times>(f);
	} else {
#pragma GCC unroll 1
		for (int time = 0; time < Times; time++) {
			f(time);
		}
	}
}

// V vectors of all rows of a product with one piece, with which a parameter is updated: that of a row, which waits for memory and divides,
// while the next row's sums are made. Its gradient stays in registers. What has been updated cannot be computed again: where b is not finite,
// or a sum has ended as a negative zero, rows are computed with their zeros.
template <bool Adam, bool Common, int W, int V, class Load, class Store>
void skip_and_update(const Product& of, int64_t column, float* room, const Load& get, const Store& put) {
	const Product p = of;  // as above
	const Update u = known<Adam, Common>(*p.update);
	bool odd = !gather<W, V>(p, column, 0, p.depth, get, room);
	convolution::Ints<W> least_bits{};
	Vec<W> gradient[V]{};
	int64_t at = (p.row - 1) * u.width + p.column + column;  // of the row before
	for (int64_t row = 0; row <= p.rows; row++, at += u.width) {
		const uint64_t* words = p.picked.words + row * p.depth;
		const uint64_t* const end = words + (row < p.rows ? p.picked.counts[row] : 0);
		Tile<W, V, 1> sums{};
		if (row > 0) {
			Steps<Adam, Common, W, V> steps;
			const int64_t some = (end - words) / steps.times;
			each<Common, steps.times>([&](int time) __attribute__((always_inline)) {
				add<W, V>(words, words + some, room, sums);
				words += some;
				steps.advance(u, time, at, gradient, get, put);
			});
		}
		add<W, V>(words, end, room, sums);
		see<W, V>(sums, least_bits);
		odd = odd || has_negative_zero(least_bits);
		if (odd && row < p.rows) {
			add_all<W, V>(p.a + row * p.a_row, p.depth, p.picked.vectors * W, room, sums);
		}
		total<W, V, 1>(p, row, column, 0, sums, get);
		for (int v = 0; v < V; v++) {
			gradient[v] = sums[0][v];
		}
	}
}

// The same of so many vectors, at most M.
template <int W, int M, class Load, class Store>
INLINE bool skip_vectors(int64_t vectors, const Product& p, int64_t column, float* room, const Load& get, const Store& put) {
	if constexpr (M > 1) {
		if (vectors < M) {
			return skip_vectors<W, M - 1>(vectors, p, column, room, get, put);
		}
	}
	if constexpr (M <= Product::most(W, true)) {
		if (p.update != nullptr) {
			auto run = [&]<bool Adam>() {
				auto own = is_common(*p.update) ? skip_and_update<Adam, true, W, M, Load, Store> : skip_and_update<Adam, false, W, M, Load, Store>;
				own(p, column, room, get, put);
			};
			p.update->kind == Update::sgd ? run.template operator()<false>() : run.template operator()<true>();
			return true;
		}
	}
	return skip<W, M>(p, column, room, get, put);
}

// The product of what was picked from a; false if its bits may be others.
template <int W>
bool multiply_picked(const Product& p, float* room) {
	const int64_t vectors = p.columns / W, parts = (vectors + p.picked.vectors - 1) / p.picked.vectors;
	int64_t column = 0;
	auto get = [](const float* from) { return load<W>(from); };
	auto put = [](float* to, Vec<W> v) { store(to, v); };
	for (int64_t i = 0; i < parts; i++) {
		const int64_t some = (vectors + i) / parts;  // parts differ by one at most
		if (!skip_vectors<W, Picked::most>(some, p, column, room, get, put)) {
			return false;
		}
		column += some * W;
	}
	const int64_t rest = p.columns - column;
	return rest == 0 || skip_vectors<W, 1>(
	                        1, p, column, room, [=](const float* from) { return convolution::load_some<W>(from, rest); },
	                        [=](float* to, Vec<W> v) { convolution::store_some(to, v, rest); });
}

}  // namespace
}  // namespace tg::matrices
