// AVX-512's instructions, as far as the kernels use them, for processors without: a number after the other, with the same results. They are
// found before the compiler's own, which it would refuse to compile. With them tests run the kernels of 512 bits everywhere.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <limits>

#define EMULATED static inline __attribute__((always_inline))

namespace tg {
namespace {

// Numbers of a vector one by one.
template <class E>
struct Each {
	E numbers[64 / sizeof(E)];

	template <class V>
	explicit Each(const V& v) {
		memcpy(numbers, &v, sizeof v);
	}
	E operator[](int i) const { return numbers[i]; }
};

// The vector of what f makes of each place.
template <class V, class E, class F>
EMULATED V made_of(const F& f) {
	E numbers[sizeof(V) / sizeof(E)];
	for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(E)); i++) {
		numbers[i] = f(i);
	}
	V v;
	memcpy(&v, numbers, sizeof v);
	return v;
}

// What is in memory where a mask says so, and zero elsewhere.
template <class V, class E>
EMULATED V read_some(uint64_t mask, const void* from) {
	return made_of<V, E>([&](int i) { return mask >> i & 1 ? static_cast<const E*>(from)[i] : E{}; });
}

template <class E, class V>
EMULATED void write_some(void* to, uint64_t mask, const V& v) {
	const Each<E> each(v);
	for (int i = 0; i < static_cast<int>(sizeof v / sizeof(E)); i++) {
		if (mask >> i & 1) {
			static_cast<E*>(to)[i] = each[i];
		}
	}
}

template <class V>
EMULATED V read(const void* from) {
	V v;
	memcpy(&v, from, sizeof v);
	return v;
}

EMULATED __m512 _mm512_loadu_ps(const void* from) { return read<__m512>(from); }
EMULATED __m512 _mm512_load_ps(const void* from) { return read<__m512>(from); }
EMULATED __m512i _mm512_loadu_si512(const void* from) { return read<__m512i>(from); }
EMULATED void _mm512_storeu_si512(void* to, __m512i v) { memcpy(to, &v, sizeof v); }

EMULATED __m512 _mm512_maskz_loadu_ps(__mmask16 some, const void* from) { return read_some<__m512, float>(some, from); }
EMULATED __m512i _mm512_maskz_loadu_epi32(__mmask16 some, const void* from) { return read_some<__m512i, int32_t>(some, from); }
EMULATED __m512i _mm512_maskz_loadu_epi8(__mmask64 some, const void* from) { return read_some<__m512i, int8_t>(some, from); }
EMULATED __m256i _mm256_maskz_loadu_epi16(__mmask16 some, const void* from) { return read_some<__m256i, int16_t>(some, from); }
EMULATED __m128i _mm_maskz_loadu_epi8(__mmask16 some, const void* from) { return read_some<__m128i, int8_t>(some, from); }

EMULATED void _mm512_mask_storeu_ps(void* to, __mmask16 some, __m512 v) { write_some<float>(to, some, v); }
EMULATED void _mm512_mask_storeu_epi32(void* to, __mmask16 some, __m512i v) { write_some<int32_t>(to, some, v); }
EMULATED void _mm512_mask_storeu_epi8(void* to, __mmask64 some, __m512i v) { write_some<int8_t>(to, some, v); }
EMULATED void _mm256_mask_storeu_epi16(void* to, __mmask16 some, __m256i v) { write_some<int16_t>(to, some, v); }

typedef float Floats16 __attribute__((vector_size(64)));
typedef int32_t Ints16 __attribute__((vector_size(64)));
typedef uint32_t Words16 __attribute__((vector_size(64)));

EMULATED __m512 _mm512_set1_ps(float x) { return (__m512)(x - Floats16{}); }
EMULATED __m512i _mm512_set1_epi32(int32_t x) { return (__m512i)(x - Ints16{}); }
EMULATED __m512 _mm512_setzero_ps() { return __m512{}; }
EMULATED __m512i _mm512_setzero_si512() { return __m512i{}; }

#undef _mm512_setr_epi32  // a macro
template <class... N>
EMULATED __m512i _mm512_setr_epi32(N... numbers) {
	return (__m512i)Ints16{numbers...};
}

EMULATED __m512i _mm512_add_epi32(__m512i a, __m512i b) { return (__m512i)((Words16)a + (Words16)b); }
EMULATED __m512 _mm512_sub_ps(__m512 a, __m512 b) { return a - b; }
EMULATED __m512 _mm512_mul_ps(__m512 a, __m512 b) { return a * b; }
EMULATED __m512i _mm512_max_epi32(__m512i a, __m512i b) { return (__m512i)((Ints16)a > (Ints16)b ? (Ints16)a : (Ints16)b); }
EMULATED __m512 _mm512_max_ps(__m512 a, __m512 b) { return a > b ? a : b; }
EMULATED __m512 _mm512_min_ps(__m512 a, __m512 b) { return a < b ? a : b; }
EMULATED __m512i _mm512_slli_epi32(__m512i a, unsigned by) { return (__m512i)((Words16)a << by); }

// Two halves, of which each has the instruction.
template <class F>
EMULATED __m512 halves(const F& f) {
	__m256 both[2] = {f(0), f(1)};
	return read<__m512>(both);
}

EMULATED __m256 half(const __m512& v, int i) { return read<__m256>(reinterpret_cast<const char*>(&v) + i * sizeof(__m256)); }

EMULATED __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) {
	return halves([&](int i) __attribute__((always_inline)) { return _mm256_fmadd_ps(half(a, i), half(b, i), half(c, i)); });
}

EMULATED __m512 _mm512_sqrt_ps(__m512 a) {
	return halves([&](int i) __attribute__((always_inline)) { return _mm256_sqrt_ps(half(a, i)); });
}

EMULATED __m512 _mm512_cvtepi32_ps(__m512i a) { return (__m512)__builtin_convertvector((Ints16)a, Floats16); }
EMULATED __m512i _mm512_castps_si512(__m512 a) { return (__m512i)a; }

// The nearest number, the even one of two; what is too large or none is the least.
EMULATED __m512i _mm512_cvtps_epi32(__m512 a) {
	const __m256i both[2] = {_mm256_cvtps_epi32(half(a, 0)), _mm256_cvtps_epi32(half(a, 1))};
	return read<__m512i>(both);
}

EMULATED __m512i _mm512_cvtepu8_epi32(__m128i a) {
	const Each<uint8_t> each(a);
	return made_of<__m512i, int32_t>([&](int i) { return each[i]; });
}

EMULATED __m512i _mm512_cvtepi8_epi32(__m128i a) {
	const Each<int8_t> each(a);
	return made_of<__m512i, int32_t>([&](int i) { return each[i]; });
}

EMULATED __m512i _mm512_cvtepu16_epi32(__m256i a) {
	const Each<uint16_t> each(a);
	return made_of<__m512i, int32_t>([&](int i) { return each[i]; });
}

// Rounded to bfloat16: the nearest number, the even one of two; denormal ones are zero.
EMULATED __m256bh _mm512_cvtneps_pbh(__m512 a) {
	const Each<uint32_t> each(a);
	return made_of<__m256bh, uint16_t>([&](int i) -> uint16_t {
		const uint32_t bits = each[i], exponent = bits >> 23 & 0xff;
		if (exponent == 0) {
			return bits >> 16 & 0x8000;
		}
		if (exponent == 0xff) {
			return bits >> 16 | (bits & 0x7fffff ? 0x40 : 0);
		}
		return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	});
}

// Two products of bfloat16 added to each sum, first the upper one. Denormal numbers are zero.
EMULATED __m512 _mm512_dpbf16_ps(__m512 sums, __m512bh a, __m512bh b) {
	auto number = [](Words16 bits) __attribute__((always_inline)) {
		const Words16 normal = (Words16)((bits & 0x7f800000) != 0);
		return (__m512)(bits & (normal | 0x80000000));
	};
	auto x = (Words16)a, y = (Words16)b;
	sums = number((Words16)_mm512_fmadd_ps(number(x & 0xffff0000), number(y & 0xffff0000), number((Words16)sums)));
	return number((Words16)_mm512_fmadd_ps(number(x << 16), number(y << 16), sums));
}

// Four products, of a number without a sign and one with, added to each sum.
EMULATED __m512i _mm512_dpbusd_epi32(__m512i sums, __m512i a, __m512i b) {
	Ints16 all{};
	for (int i = 0; i < 4; i++) {
		all += (Ints16)((Words16)a >> 8 * i & 0xff) * ((Ints16)((Words16)b << (24 - 8 * i)) >> 24);
	}
	return _mm512_add_epi32(sums, (__m512i)all);
}

template <class F>
EMULATED __mmask16 mask_of(const F& f) {
	unsigned mask = 0;
	for (int i = 0; i < 16; i++) {
		mask |= static_cast<unsigned>(f(i)) << i;
	}
	return static_cast<__mmask16>(mask);
}

EMULATED __mmask16 _mm512_test_epi32_mask(__m512i a, __m512i b) {
	const Each<int32_t> x(a), y(b);
	return mask_of([&](int i) { return (x[i] & y[i]) != 0; });
}

// Only what is not equal, or none, is asked for.
EMULATED __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int how) {
	if (how != _CMP_NEQ_UQ) {
		__builtin_trap();
	}
	const Each<float> x(a), y(b);
	return mask_of([&](int i) { return x[i] != y[i]; });
}

// The numbers that a mask names, side by side, and zeros behind them.
EMULATED __m512i _mm512_maskz_compress_epi32(__mmask16 some, __m512i a) {
	const Each<int32_t> each(a);
	int32_t numbers[16] = {};
	for (int i = 0, n = 0; i < 16; i++) {
		if (some >> i & 1) {
			numbers[n++] = each[i];
		}
	}
	return read<__m512i>(numbers);
}

EMULATED __m512 _mm512_maskz_compress_ps(__mmask16 some, __m512 a) { return (__m512)_mm512_maskz_compress_epi32(some, (__m512i)a); }

EMULATED __m512i _mm512_permutexvar_epi32(__m512i places, __m512i a) {
	const Each<int32_t> place(places), each(a);
	return made_of<__m512i, int32_t>([&](int i) { return each[place[i] & 15]; });
}

EMULATED __m512i _mm512_permutex2var_epi32(__m512i a, __m512i places, __m512i b) {
	const Each<int32_t> place(places), x(a), y(b);
	return made_of<__m512i, int32_t>([&](int i) { return (place[i] & 16 ? y : x)[place[i] & 15]; });
}

// Vectors of 128 bits, each by itself, of one vector's numbers and another's behind them, cut to half their bits.
template <class Wide, class Narrow>
EMULATED __m512i packed(__m512i a, __m512i b) {
	const Each<Wide> x(a), y(b);
	constexpr int some = 16 / sizeof(Wide);
	return made_of<__m512i, Narrow>([&](int i) -> Narrow {
		const int lane = i / (2 * some), at = i % (2 * some);
		const Wide own = (at < some ? x : y)[lane * some + at % some];
		constexpr Wide low = std::numeric_limits<Narrow>::min(), high = std::numeric_limits<Narrow>::max();
		return static_cast<Narrow>(own < low ? low : own > high ? high : own);
	});
}

EMULATED __m512i _mm512_packs_epi32(__m512i a, __m512i b) { return packed<int32_t, int16_t>(a, b); }
EMULATED __m512i _mm512_packus_epi16(__m512i a, __m512i b) { return packed<int16_t, uint8_t>(a, b); }

// Numbers of both in turn, of the lower or the upper half of each 128 bits.
template <class E, bool Upper>
EMULATED __m512i unpacked(__m512i a, __m512i b) {
	const Each<E> x(a), y(b);
	constexpr int some = 16 / sizeof(E);
	return made_of<__m512i, E>([&](int i) {
		const int at = i / some * some + (Upper ? some / 2 : 0) + i % some / 2;
		return i % 2 == 0 ? x[at] : y[at];
	});
}

EMULATED __m512i _mm512_unpacklo_epi8(__m512i a, __m512i b) { return unpacked<int8_t, false>(a, b); }
EMULATED __m512i _mm512_unpackhi_epi8(__m512i a, __m512i b) { return unpacked<int8_t, true>(a, b); }
EMULATED __m512i _mm512_unpacklo_epi16(__m512i a, __m512i b) { return unpacked<int16_t, false>(a, b); }
EMULATED __m512i _mm512_unpackhi_epi16(__m512i a, __m512i b) { return unpacked<int16_t, true>(a, b); }

EMULATED void _mm512_i32scatter_ps(void* to, __m512i places, __m512 v, int size) {
	const Each<int32_t> place(places);
	const Each<float> each(v);
	for (int i = 0; i < 16; i++) {
		memcpy(static_cast<char*>(to) + static_cast<int64_t>(place[i]) * size, &each.numbers[i], sizeof(float));
	}
}

// Numbers without a sign, cut to eight bits.
EMULATED void _mm512_mask_cvtusepi32_storeu_epi8(void* to, __mmask16 some, __m512i a) {
	const Each<uint32_t> each(a);
	write_some<uint8_t>(to, some, made_of<__m128i, uint8_t>([&](int i) { return static_cast<uint8_t>(each[i] > 0xff ? 0xff : each[i]); }));
}

}  // namespace
}  // namespace tg
