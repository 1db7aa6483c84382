// Convolutions of each channel by itself: many numbers are read and few are computed, so all channels of some neighbouring pixels are
// computed together, and zeros around an image are left out instead of read.
#pragma once

#include "direct.h"

namespace tg::convolution {
namespace {

// Meets are the rows and columns of pixels and weights that meet, of which x and w are the first.
template <class N>
struct Meets {
	const N* x;
	const N* w;
	int64_t rows, columns;
};

// V vectors of channels, of which the first has that number, of P neighbouring pixels, the first at place.
template <int W, int V, int P, class N, class Load>
INLINE void some(const Task& t, const Meets<N>& m, int64_t place, int64_t channel, const Load& load) {
	const int64_t step = t.across * t.channels;
	Sums<W, V, P> sums;
	for (auto& start : sums.rows) {
		biases<W, V>(t, channel, start);
	}
	for (int64_t i = 0; i < m.rows; i++) {
		const N *x = m.x + i * t.width * t.channels + channel, *w = m.w + i * t.kernel_width * t.channels + channel;
		for (int64_t k = 0; k < m.columns; k++, x += t.channels, w += t.channels) {
			for (int v = 0; v < V; v++) {
				Vec<W> weight = load(w + v * W);
				for (int p = 0; p < P; p++) {
					sums.rows[p][v] += load(x + p * step + v * W) * weight;
				}
			}
		}
	}
	finish<N>(t, sums, place + channel, channel);
}

// All channels from one on, as many at a time as there are sums to be made that do not wait for each other.
template <int W, int P, int V = 8 / P, class N>
INLINE void neighbours(const Task& t, const Meets<N>& m, int64_t place, int64_t channel = 0) {
	for (; channel + V * W <= t.channels; channel += V * W) {
		some<W, V, P>(t, m, place, channel, [](const N* from) { return load<W>(from); });
	}
	if constexpr (V > 1) {
		neighbours<W, P, V / 2>(t, m, place, channel);
	} else if (int64_t rest = t.channels - channel; rest > 0) {
		some<W, 1, P>(t, m, place, channel, [&](const N* from) { return load_some<W>(from, rest); });
	}
}

// The pixels of a row from first to last, all of whose columns meet: as many at a time as there are registers for, then fewer.
template <int W, int P, class N>
INLINE void inner(const Task& t, const Meets<N>& m, int64_t first, int64_t last, int64_t place) {
	for (; last - first >= P; first += P) {
		const N* x = m.x + (first * t.across - t.left) * t.channels;
		neighbours<W, P>(t, Meets<N>{x, m.w, m.rows, m.columns}, place + first * t.channels);
	}
	if constexpr (P > 1) {
		inner<W, P / 2>(t, m, first, last, place);
	}
}

// Rows of the outputs, which are counted through all images.
template <class N, int W>
void depthwise(const Task& t, int64_t first, int64_t last) {
	for (; first < last; first++) {
		int64_t y = first % t.out_height * t.down - t.above, above = most(0, -y);
		int64_t rows = most(0, least(t.kernel_height, t.height - y) - above);
		const N* x = static_cast<const N*>(t.x) + (first / t.out_height * t.height + (rows > 0 ? y + above : 0)) * t.width * t.channels;
		const N* w = static_cast<const N*>(t.weight) + above * t.kernel_width * t.channels;
		int64_t place = first * t.out_width * t.channels;
		auto edge = [&](int64_t pixel) {
			int64_t at = pixel * t.across - t.left, before = most(0, -at);
			int64_t columns = most(0, least(t.kernel_width, t.width - at) - before);
			Meets<N> part{x, w, 0, 0};
			if (rows > 0 && columns > 0) {
				part = {x + (at + before) * t.channels, w + before * t.channels, rows, columns};
			}
			neighbours<W, 1>(t, part, place + pixel * t.channels);
		};
		int64_t begin = least(t.out_width, (t.left + t.across - 1) / t.across);
		int64_t fit = t.width + t.left - t.kernel_width;  // what lies before the last pixel all of whose columns meet, in steps
		int64_t end = rows > 0 && fit >= 0 ? least(t.out_width, fit / t.across + 1) : begin;
		for (int64_t pixel = 0; pixel < begin; pixel++) {
			edge(pixel);
		}
		inner<W, 8>(t, Meets<N>{x, w, rows, t.kernel_width}, begin, end, place);
		for (int64_t pixel = most(begin, end); pixel < t.out_width; pixel++) {
			edge(pixel);
		}
	}
}

}  // namespace
}  // namespace tg::convolution
