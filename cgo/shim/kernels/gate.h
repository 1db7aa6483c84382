// Means of images and products with them, as networks have them that weigh their channels: memory is all that takes time.
#pragma once

#include "convolution.h"
#include "vectors.h"

namespace tg::convolution {
namespace {

// The means of V vectors of channels. The sums of some neighbouring pixels are added up, which rounds less than one sum.
template <int W, int V, class N, class Load>
INLINE void mean(const N* x, int64_t pixels, int64_t channels, Vec<W>* to, const Load& load) {
	constexpr int64_t neighbours = 32;
	for (int v = 0; v < V; v++) {
		to[v] = Vec<W>{};
	}
	for (int64_t first = 0; first < pixels; first += neighbours) {
		Vec<W> sums[V] = {};
		for (int64_t i = first; i < least(pixels, first + neighbours); i++) {
			for (int v = 0; v < V; v++) {
				sums[v] += load(x + i * channels + v * W);
			}
		}
		for (int v = 0; v < V; v++) {
			to[v] += sums[v];
		}
	}
	for (int v = 0; v < V; v++) {
		to[v] /= static_cast<float>(pixels);
	}
}

// The mean of each channel of an image.
template <class N, int W>
void means(const void* images, int64_t pixels, int64_t channels, void* to) {
	const N* x = static_cast<const N*>(images);
	N* y = static_cast<N*>(to);
	in_vectors<W, 4>(channels, [&]<int V>(int64_t c, const auto& load, const auto& store) {
		Vec<W> m[V];
		mean<W, V>(x + c, pixels, channels, m, load);
		for (int v = 0; v < V; v++) {
			store(y + c + v * W, m[v]);
		}
	});
}

// Each channel of some pixels of an image times a number.
template <class N, int W>
void scale(const void* images, const void* numbers, int64_t pixels, int64_t channels, void* to) {
	const N *x = static_cast<const N*>(images), *by = static_cast<const N*>(numbers);
	N* y = static_cast<N*>(to);
	int64_t whole = channels / W * W, rest = channels - whole;
	for (; pixels > 0; pixels--, x += channels, y += channels) {
		for (int64_t c = 0; c < whole; c += W) {
			store(y + c, load<W>(x + c) * load<W>(by + c));
		}
		if (rest > 0) {
			store_some(y + whole, load_some<W>(x + whole, rest) * load_some<W>(by + whole, rest), rest);
		}
	}
}

}  // namespace
}  // namespace tg::convolution
