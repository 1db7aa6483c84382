// Numbers in eight bits: how sums become them, and what is done to each of them by itself.
#pragma once

#include "direct.h"
#include "uint8.h"

namespace tg::uint8 {
namespace {

using convolution::activate;
using convolution::least;
using convolution::most;
using convolution::Vec;
using convolution::with;

INLINE __mmask16 first_sums(int64_t n) {
	return n >= kSums ? 0xffff : static_cast<__mmask16>((1 << n) - 1);
}

INLINE __mmask64 first_bytes(int64_t n) {
	return n >= kBytes ? ~__mmask64{0} : (__mmask64{1} << n) - 1;
}

// Numbers in eight bits as float32; of the others nothing is read.
INLINE __m512 widened(const uint8_t* from, __mmask16 some) {
	return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(some, from)));
}

// Numbers become the nearest ones of eight bits.
INLINE void narrow(uint8_t* to, __m512i v, int64_t n) {
	_mm512_mask_cvtusepi32_storeu_epi8(to, first_sums(n), _mm512_max_epi32(v, _mm512_setzero_si512()));
}

// The vectors of four neighbours of 128 bits each, one behind the other in each: what unpacking bytes of four twice leads to.
INLINE __m512i pack(const __m512i* v) {
	return _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
}

// Results of one pixel in eight bits, of which the last vector may have fewer.
template <int V>
INLINE void put(uint8_t* to, const __m512i* v, int64_t n) {
	if (V == kPanel && n >= V * kSums) {
		const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
		_mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, pack(v)));
		return;
	}
	for (int i = 0; i < V; i++) {
		narrow(to + i * kSums, v[i], n - i * kSums);
	}
}

// Numbers to be rounded, of sums.
template <Activation A>
INLINE __m512 finished(__m512i sums, __m512 scale, __m512 add) {
	return (__m512)activate<A>((Vec<16>)_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, add));
}

INLINE __m512i steps(const Finish& f, __m512 v) {
	return _mm512_cvtps_epi32(_mm512_fmadd_ps(v, _mm512_set1_ps(f.by), _mm512_set1_ps(f.zero)));
}

void quantize(const float* x, int64_t n, float by, int32_t zero, uint8_t* y) {
	for (int64_t i = 0; i < n; i += kSums) {
		__m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(first_sums(n - i), x + i), _mm512_set1_ps(by));
		narrow(y + i, _mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(zero)), n - i);
	}
}

void sums(const uint8_t* x, int64_t pixels, int64_t channels, int32_t* y) {
	for (int64_t c = 0; c < channels; c += kSums) {
		__mmask16 some = first_sums(channels - c);
		__m512i all[2] = {};
		int64_t i = 0;
		for (; i + 2 <= pixels; i += 2) {
			for (int64_t k = 0; k < 2; k++) {
				all[k] = _mm512_add_epi32(all[k], _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(some, x + (i + k) * channels + c)));
			}
		}
		if (i < pixels) {
			all[0] = _mm512_add_epi32(all[0], _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(some, x + i * channels + c)));
		}
		_mm512_mask_storeu_epi32(y + c, some, _mm512_add_epi32(all[0], all[1]));
	}
}

// V vectors of channels of a pixel times a number each, of which there may be fewer.
template <int V>
INLINE void scaled(const uint8_t* x, __m512 x_zero, const float* by, __m512 zero, int64_t n, uint8_t* y) {
	__m512i whole[V];
	for (int v = 0; v < V; v++) {
		__mmask16 some = first_sums(most(0, n - v * kSums));
		__m512 number = _mm512_sub_ps(widened(x + v * kSums, some), x_zero);
		whole[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(number, _mm512_maskz_loadu_ps(some, by + v * kSums), zero));
	}
	put<V>(y, whole, n);
}

void scale(const uint8_t* x, float x_zero, const float* by, int64_t pixels, int64_t channels, float zero, uint8_t* y) {
	const __m512 from = _mm512_set1_ps(x_zero), to = _mm512_set1_ps(zero);
	for (; pixels > 0; pixels--, x += channels, y += channels) {
		int64_t c = 0;
		for (; c + kBytes <= channels; c += kBytes) {
			scaled<kPanel>(x + c, from, by + c, to, kBytes, y + c);
		}
		for (; c < channels; c += kSums) {
			scaled<1>(x + c, from, by + c, to, channels - c, y + c);
		}
	}
}

void gather(const uint8_t* x, int64_t step, int64_t pixels, int64_t channels, uint8_t* y) {
	for (; pixels > 0; pixels--, x += step, y += channels) {
		for (int64_t c = 0; c < channels; c += kBytes) {
			__mmask64 some = first_bytes(channels - c);
			_mm512_mask_storeu_epi8(y + c, some, _mm512_maskz_loadu_epi8(some, x + c));
		}
	}
}

}  // namespace
}  // namespace tg::uint8
