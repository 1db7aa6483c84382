// Convolutions of each channel by itself: a vector of channels of neighbouring pixels is computed at once, so that what one pixel loads
// the next ones have, and zeros around an image are left out instead of read.
#pragma once

#include "direct.h"

namespace tg::convolution {
namespace {

// Seen is what some neighbouring outputs of a vector of channels see: rows of inputs, whose pixels lie so far apart, and of whose columns,
// counted from the first that the first output sees, those from one on to another lie in the image.
template <class N>
struct Seen {
	const N *x, *weight;
	int64_t apart, rows, from, to;
};

// P neighbouring outputs of a vector of channels, of kernels that are K columns wide and S apart.
template <int W, int P, int K, int S, class N, class Load>
INLINE void add(const Task& t, const Seen<N>& seen, Sums<W, 1, P>& sums, const Load& load) {
	const N *x = seen.x, *w = seen.weight;
	for (int64_t i = 0; i < seen.rows; i++, x += t.width * seen.apart) {
		Vec<W> weights[K];
		for (int k = 0; k < K; k++, w += t.channels) {
			weights[k] = load(w);
		}
#pragma GCC unroll 32
		for (int j = 0; j < (P - 1) * S + K; j++) {
			if (j < seen.from || j >= seen.to) {
				continue;
			}
			Vec<W> own = load(x + j * seen.apart);
			for (int p = 0; p < P; p++) {
				if (j >= p * S && j < p * S + K) {
					sums.rows[p][0] += own * weights[j - p * S];
				}
			}
		}
	}
}

// The same of any kernels.
template <int W, int P, class N, class Load>
INLINE void add_any(const Task& t, const Seen<N>& seen, Sums<W, 1, P>& sums, const Load& load) {
	const N *x = seen.x, *w = seen.weight;
	for (int64_t i = 0; i < seen.rows; i++, x += t.width * seen.apart) {
		for (int64_t k = 0; k < t.kernel_width; k++, w += t.channels) {
			Vec<W> weight = load(w);
			for (int64_t p = 0, j = k; p < P; p++, j += t.across) {
				if (j >= seen.from && j < seen.to) {
					sums.rows[p][0] += load(x + j * seen.apart) * weight;
				}
			}
		}
	}
}

// Line is a row of outputs of a vector of W channels from one on: what it sees of an image, whose pixels lie so far apart, and where it lies.
template <class N, int W>
struct Line {
	const N *x, *weight;
	int64_t apart, rows, place;

	Line(const Task& t, int64_t row, int64_t channel) : apart(t.apart_vectors > 0 ? W : t.channels) {
		const int64_t y = row % t.out_height * t.down - t.above, above = most(0, -y);
		rows = most(0, least(t.kernel_height, t.height - y) - above);
		x = static_cast<const N*>(t.x) + (row / t.out_height * t.height + (rows > 0 ? y + above : 0)) * t.width * apart;
		x += t.apart_vectors > 0 ? channel / W * t.apart_vectors : channel;
		weight = static_cast<const N*>(t.weight) + above * t.kernel_width * t.channels + channel;
		place = row * t.out_width * t.channels + channel;
	}
};

// The outputs of a row from one on, of a vector of channels: as many at a time as divide what images are wide, then fewer. K is 0 for any
// kernels.
template <int W, int P, int K, int S, class N, class Load>
INLINE void outputs(const Task& t, const Line<N, W>& line, int64_t channel, Vec<W> bias, int64_t pixel, const Load& load) {
	for (; t.out_width - pixel >= P; pixel += P) {
		const int64_t first = pixel * t.across - t.left;
		Seen<N> seen{line.x + first * line.apart, line.weight, line.apart, line.rows, -first, t.width - first};
		Sums<W, 1, P> sums;
		for (int p = 0; p < P; p++) {
			sums.rows[p][0] = bias;
		}
		if constexpr (K > 0) {
			add<W, P, K, S>(t, seen, sums, load);
		} else {
			add_any<W, P>(t, seen, sums, load);
		}
		finish<N>(t, sums, line.place + pixel * t.channels, channel);
	}
	if constexpr (P > 1) {
		outputs<W, (P > 4 ? 4 : P / 2), K, S>(t, line, channel, bias, pixel, load);
	}
}

// Rows of outputs, a vector of channels at a time: what they see of it stays near.
template <class N, int W, int K, int S>
void lines(const Task& t, int64_t first, int64_t last) {
	for (int64_t channel = 0; channel < t.channels; channel += W) {
		Vec<W> bias;
		biases<W, 1>(t, channel, &bias);
		const int64_t rest = t.channels - channel;
		for (int64_t row = first; row < last; row++) {
			const Line<N, W> line(t, row, channel);
			if (rest >= W) {
				outputs<W, 7, K, S>(t, line, channel, bias, 0, [](const N* from) { return load<W>(from); });
			} else {
				outputs<W, 7, K, S>(t, line, channel, bias, 0, [=](const N* from) { return load_some<W>(from, rest); });
			}
		}
	}
}

// Rows of the outputs, which are counted through all images.
template <class N, int W>
void depthwise(const Task& t, int64_t first, int64_t last) {
	auto any = lines<N, W, 0, 0>, run = any;
	if (t.across == 1) {
		run = t.kernel_width == 3 ? lines<N, W, 3, 1> : t.kernel_width == 5 ? lines<N, W, 5, 1> : t.kernel_width == 7 ? lines<N, W, 7, 1> : any;
	} else if (t.across == 2) {
		run = t.kernel_width == 3 ? lines<N, W, 3, 2> : t.kernel_width == 5 ? lines<N, W, 5, 2> : any;
	}
	run(t, first, last);
}

}  // namespace
}  // namespace tg::convolution
