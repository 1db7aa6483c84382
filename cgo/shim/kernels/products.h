// Sums of four products at a time (VNNI): a pixel's numbers are the same in all lanes and weights are those of sixteen outputs, or for
// each channel by itself four numbers of its own meet four weights.
#pragma once

#include "bytes.h"

namespace tg::uint8 {
namespace {

// Lanes are what V vectors of outputs have of their own.
template <int V>
struct Lanes {
	__m512i start[V];
	__m512 scale[V], bias[V];

	Lanes(const Finish& f, int64_t output, int64_t outputs) {
		__m512 off = _mm512_set1_ps(f.sum_scale * f.sum_zero);
		for (int v = 0; v < V; v++, output += kSums) {
			__mmask16 some = first_sums(outputs - output);
			start[v] = _mm512_maskz_loadu_epi32(some, f.start + output);
			scale[v] = _mm512_maskz_loadu_ps(some, f.scale + output);
			bias[v] = _mm512_sub_ps(_mm512_maskz_loadu_ps(some, f.bias + output), off);
		}
	}
};

// R rows times a panel of V vectors, added to start. A vector of weights that lies so far ahead of each V is brought nearer.
template <int V, int R>
INLINE void product(const Task& t, const uint8_t* const* from, const int8_t* panel, int64_t ahead, const Lanes<V>& lanes, __m512i* to) {
	__m512i sums[R][V];
	const uint8_t* rows[R];
	for (int r = 0; r < R; r++) {
		rows[r] = from[r];
		for (int v = 0; v < V; v++) {
			sums[r][v] = lanes.start[v];
		}
	}
	for (int64_t y = 0; y < t.kernel_height; y++) {
		for (int64_t k = 0; k < 4 * t.fours; k += 4, panel += V * kBytes) {
			_mm_prefetch(panel + ahead, _MM_HINT_T1);
			__m512i weights[V];
			for (int v = 0; v < V; v++) {
				weights[v] = _mm512_loadu_si512(panel + v * kBytes);
			}
			for (int r = 0; r < R; r++) {
				int32_t four;
				memcpy(&four, rows[r] + k, sizeof four);
				__m512i x = _mm512_set1_epi32(four);
				for (int v = 0; v < V; v++) {
					sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], x, weights[v]);
				}
			}
		}
		for (int r = 0; r < R; r++) {
			rows[r] += t.width * t.channels;
		}
	}
	for (int r = 0; r < R; r++) {
		for (int v = 0; v < V; v++) {
			to[r * V + v] = sums[r][v];
		}
	}
}

// The same of n rows, at most R.
template <int V, int R>
INLINE void products(int64_t n, const Task& t, const uint8_t* const* from, const int8_t* panel, int64_t ahead, const Lanes<V>& lanes,
                     __m512i* to) {
	if constexpr (R > 1) {
		if (n < R) {
			return products<V, R - 1>(n, t, from, panel, ahead, lanes, to);
		}
	}
	product<V, R>(t, from, panel, ahead, lanes, to);
}

// What the sums of n neighbouring pixels become, of which the first has its outputs at place; at most some outputs.
template <Activation A, bool Added, int V>
void finish(const Finish& f, const Lanes<V>& lanes, const __m512i* sums, int64_t n, int64_t place, int64_t next, int64_t some) {
	__mmask16 masks[V];
	for (int v = 0; v < V; v++) {
		masks[v] = first_sums(most(0, some - v * kSums));
	}
	for (; n > 0; n--, sums += V, place += next) {
		__m512i whole[V];
		for (int v = 0; v < V; v++) {
			int64_t at = place + v * kSums;
			__m512 add = lanes.bias[v];
			if constexpr (Added) {
				add = _mm512_fmadd_ps(widened(f.sum + at, masks[v]), _mm512_set1_ps(f.sum_scale), add);
			}
			__m512 result = finished<A>(sums[v], lanes.scale[v], add);
			if (f.real) {
				_mm512_mask_storeu_ps(f.real + at, masks[v], result);
			}
			whole[v] = steps(f, result);
		}
		if (f.whole) {
			put<V>(f.whole + place, whole, some);
		}
	}
}

template <int V, int R>
void direct(const Task& t, int64_t vector, int64_t first, int64_t last) {
	const int64_t output = vector * kSums;
	const Lanes<V> lanes(t.finish, output, t.outputs);
	const int64_t size = V * t.kernel_height * t.fours * kBytes;  // the next panel lies behind it
	const int8_t* panel = t.weight + vector * t.kernel_height * t.fours * kBytes;
	convolution::Walk at(t, t.x, first);
	Even blocks(last - first, R);
	for (int64_t i = 0; i < blocks.parts; i++) {
		const int64_t n = blocks.size(i), place = (first + blocks.first(i)) * t.outputs + output;
		const uint8_t* rows[R];
		for (int64_t r = 0; r < n; r++) {
			rows[r] = at(r);
		}
		__m512i sums[R * V];
		products<V, R>(n, t, rows, panel, size + i % V * kBytes, lanes, sums);
		with(t.finish.activation, [&]<Activation A>() {
			auto run = t.finish.sum ? finish<A, true, V> : finish<A, false, V>;
			run(t.finish, lanes, sums, n, place, t.outputs, t.outputs - output);
		});
	}
}

// Four numbers of each of 64 neighbours, side by side, times their weights.
INLINE void add_fours(__m512i* sums, const uint8_t* const* from, const int8_t* weight) {
	__m512i x[4];
	for (int i = 0; i < 4; i++) {
		x[i] = _mm512_loadu_si512(from[i]);
	}
	__m512i low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]);
	__m512i low2 = _mm512_unpacklo_epi8(x[2], x[3]), high2 = _mm512_unpackhi_epi8(x[2], x[3]);
	const __m512i fours[4] = {_mm512_unpacklo_epi16(low, low2), _mm512_unpackhi_epi16(low, low2), _mm512_unpacklo_epi16(high, high2),
	                          _mm512_unpackhi_epi16(high, high2)};
	for (int i = 0; i < 4; i++) {
		sums[i] = _mm512_dpbusd_epi32(sums[i], fours[i], _mm512_loadu_si512(weight + i * kBytes));
	}
}

// Results of 64 neighbours, whose vectors lie as pack reads them, of which there may be fewer.
template <Activation A>
INLINE void finish_bytes(const Finish& f, const __m512i* sums, int64_t lane, int64_t place, int64_t n) {
	__m512i whole[4];
	alignas(64) float real[kBytes];
	for (int i = 0; i < 4; i++) {
		int64_t at = lane + i * kSums;
		__m512 result = finished<A>(sums[i], _mm512_loadu_ps(f.scale + at), _mm512_loadu_ps(f.bias + at));
		whole[i] = steps(f, result);
		if (f.real) {
			const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51);
			_mm512_i32scatter_ps(real + 4 * i, order, result, sizeof(float));
		}
	}
	if (f.whole) {
		_mm512_mask_storeu_epi8(f.whole + place, first_bytes(n), pack(whole));
		return;
	}
	for (int i = 0; i < 4; i++) {
		__mmask16 some = first_sums(most(0, n - i * kSums));
		_mm512_mask_storeu_ps(f.real + place + i * kSums, some, _mm512_load_ps(real + i * kSums));
	}
}

// A row of results is computed as if its pixels were channels: neighbours lie side by side. Weights, and what belongs to an output, are
// there for as many neighbours as make whole vectors and whole pixels.
template <Activation A>
INLINE void rows(const Task& t, const int64_t* apart, int64_t first, int64_t last) {
	const Finish& f = t.finish;
	const int64_t n = t.out_width * t.channels, columns = (t.width + t.across - 1) / t.across, row = columns * t.across * t.channels;
	const int64_t blocks = t.outputs / kBytes;
	for (; first < last; first++) {
		const uint8_t* x = t.x + (first / t.out_height * t.height + first % t.out_height * t.down) * row;
		for (int64_t at = 0, block = 0; at < n; at += kBytes, block = block + 1 == blocks ? 0 : block + 1) {
			__m512i sums[4];
			for (int i = 0; i < 4; i++) {
				sums[i] = _mm512_loadu_si512(f.start + block * kBytes + i * kSums);
			}
			const int8_t* weight = t.weight + block * t.fours * 4 * kBytes;
			for (int64_t k = 0; k < t.fours; k++, weight += 4 * kBytes) {
				const uint8_t* from[4];
				for (int i = 0; i < 4; i++) {
					from[i] = x + at + apart[4 * k + i];
				}
				add_fours(sums, from, weight);
			}
			finish_bytes<A>(f, sums, block * kBytes, first * n + at, n - at);
		}
	}
}

void depthwise(const Task& t, int64_t first, int64_t last) {
	constexpr int64_t enough = 1 << 10;
	int64_t apart[enough] = {};  // where the numbers lie that meet the weights; those too many meet zeros
	const int64_t columns = (t.width + t.across - 1) / t.across;
	for (int64_t i = 0; i < least(enough, t.kernel_height * t.kernel_width); i++) {
		int64_t y = i / t.kernel_width, x = i % t.kernel_width;
		apart[i] = ((y * t.across + x % t.across) * columns + x / t.across) * t.channels;
	}
	with(t.finish.activation, [&]<Activation A>() { rows<A>(t, apart, first, last); });
}

}  // namespace
}  // namespace tg::uint8
