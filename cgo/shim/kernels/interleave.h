// Rows of images of few channels, laid out with these last, a vector of pixels at a time.
#pragma once

#include <type_traits>

#include "vectors.h"

namespace tg::convolution {
namespace {

// The v-th vector of pixels of C channels, with what it has of one of them in its places.
template <int C, int v, int channel, class V, int... lane>
INLINE V interleaved_with(V before, V own, std::integer_sequence<int, lane...>) {
	constexpr int place = v * sizeof...(lane);
	const V taken = __builtin_shuffle(own, V{(place + lane) / C...});
	return V{((place + lane) % C == channel ? -1 : 0)...} ? taken : before;
}

// Pixels of C channels, as many as fill vectors: how many are done is returned.
template <int W, int C, class N>
INLINE int64_t interleaved(const N* row, int64_t apart, int64_t width, N* to) {
	constexpr int lanes = W * together<N>;
	using Lane = std::conditional_t<sizeof(N) == 2, int16_t, int32_t>;
	typedef Lane V __attribute__((vector_size(lanes * sizeof(Lane))));
	constexpr auto each = std::make_integer_sequence<int, lanes>();
	int64_t at = 0;
	for (; at + lanes <= width; at += lanes) {
		V channels[C];
		unrolled<C>([&](int c) __attribute__((always_inline)) { memcpy(&channels[c], row + c * apart + at, sizeof(V)); });
		auto put = [&]<int v, int... c>(std::integer_sequence<int, c...>) __attribute__((always_inline)) {
			V own{};
			((own = interleaved_with<C, v, c>(own, channels[c], each)), ...);
			memcpy(to, &own, sizeof own);
			to += lanes;
		};
		[&]<int... v>(std::integer_sequence<int, v...>) __attribute__((always_inline)) {
			(put.template operator()<v>(std::make_integer_sequence<int, C>()), ...);
		}(std::make_integer_sequence<int, C>());
	}
	return at;
}

// A row of an image whose channels lie so far apart, and whose pixels do.
template <class N, int W>
void interleave(const void* row, int64_t apart, int64_t step, int64_t width, int64_t channels, void* to) {
	const N* from = static_cast<const N*>(row);
	N* own = static_cast<N*>(to);
	int64_t done = 0;
	if (step == 1) {
		switch (channels) {
			case 2: done = interleaved<W, 2>(from, apart, width, own); break;
			case 3: done = interleaved<W, 3>(from, apart, width, own); break;
			case 4: done = interleaved<W, 4>(from, apart, width, own); break;
		}
	}
	for (int64_t c = 0; c < channels; c++) {
		for (int64_t at = done; at < width; at++) {
			own[at * channels + c] = from[c * apart + at * step];
		}
	}
}

}  // namespace
}  // namespace tg::convolution
