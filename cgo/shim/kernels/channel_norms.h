// Norms of images whose channels lie last: each channel's sums are made in a lane, and those of a group come together at the end.
#pragma once

#include "direct.h"
#include "groups.h"

namespace tg::groups {
namespace {

using convolution::Activation;
using convolution::least;
using convolution::load_at_most;
using convolution::store_at_most;
using convolution::Vec;

// Of each channel, the sum of what a function makes of it. So many pixels are added in float32, in which more would lose digits.
template <int W, class Of>
INLINE void sums(const Images& g, const float* x, double* to, const Of& of) {
	constexpr int64_t some = 1 << 7;
	for (int64_t c = 0; c < g.channels; c += W) {
		const int64_t n = least(W, g.channels - c);
		double all[W] = {};
		for (int64_t first = 0; first < g.pixels; first += some) {
			Vec<W> a{}, b{};
			int64_t i = first;
			const int64_t last = least(first + some, g.pixels);
			for (; i + 1 < last; i += 2) {
				a += of(c, load_at_most<W>(x + i * g.channels + c, n));
				b += of(c, load_at_most<W>(x + (i + 1) * g.channels + c, n));
			}
			if (i < last) {
				a += of(c, load_at_most<W>(x + i * g.channels + c, n));
			}
			a += b;
			for (int64_t k = 0; k < W; k++) {
				all[k] += a[k];
			}
		}
		for (int64_t k = 0; k < n; k++) {
			to[c + k] = all[k];
		}
	}
}

// Of each group, the mean of its channels' sums, in the place of all of them.
inline void means(const Images& g, double* sums) {
	const int64_t size = g.channels / g.groups;
	for (int64_t c = 0; c < g.channels; c += size) {
		double all = 0;
		for (int64_t i = c; i < c + size; i++) {
			all += sums[i];
		}
		for (int64_t i = c; i < c + size; i++) {
			sums[i] = all / static_cast<double>(size * g.pixels);
		}
	}
}

// Channels are what is done to each of them: less its mean, times its scale, and its bias added.
struct Channels {
	const float *mean, *scale, *bias;
};

template <Activation A, int W>
INLINE void write(const Images& g, const float* x, const Channels& of, float* y) {
	for (int64_t i = 0; i < g.pixels; i++, x += g.channels, y += g.channels) {
		for (int64_t c = 0; c < g.channels; c += W) {
			const int64_t n = least(W, g.channels - c);
			auto own = [&](const float* numbers) __attribute__((always_inline)) { return load_at_most<W>(numbers + c, n); };
			const Vec<W> v = (own(x) - own(of.mean)) * own(of.scale) + own(of.bias);
			store_at_most(y + c, convolution::activate<A>(v), n);
		}
	}
}

// Numbers times their channel's weight, and its bias added, of the pixels from first to last.
template <int W>
void affine(const Images& g, int64_t first, int64_t last) {
	convolution::with(static_cast<Activation>(g.activation), [&]<Activation A>() {
		const float* x = g.x + first * g.channels;
		float* y = g.y + first * g.channels;
		for (int64_t i = first; i < last; i++, x += g.channels, y += g.channels) {
			convolution::in_vectors<W, 1>(g.channels, [&]<int V>(int64_t c, auto get, auto put) __attribute__((always_inline)) {
				put(y + c, convolution::activate<A>(get(x + c) * get(g.weight + c) + get(g.bias + c)));
			});
		}
	});
}

// The image of that number.
template <int W>
void norm(const Images& g, int64_t image, double* room) {
	const float* x = g.x + image * g.pixels * g.channels;
	double* all = room;
	auto *mean = reinterpret_cast<float*>(room + g.channels), *scale = mean + g.channels, *bias = scale + g.channels;
	// Less the first pixel's: where numbers lie far from zero, their sum would lose the digits in which they differ.
	sums<W>(g, x, all, [&](int64_t c, Vec<W> v) { return v - load_at_most<W>(x + c, g.channels - c); });
	for (int64_t c = 0; c < g.channels; c++) {
		all[c] += static_cast<double>(g.pixels) * x[c];
	}
	means(g, all);
	for (int64_t c = 0; c < g.channels; c++) {
		mean[c] = static_cast<float>(all[c]);
		bias[c] = static_cast<float>(all[c] - mean[c]);  // what is still to be taken off
	}
	sums<W>(g, x, all, [&](int64_t c, Vec<W> v) {
		const Vec<W> off = v - load_at_most<W>(mean + c, g.channels - c);
		return off * off;
	});
	means(g, all);
	for (int64_t c = 0; c < g.channels; c++) {
		scale[c] = static_cast<float>((g.weight != nullptr ? g.weight[c] : 1) / __builtin_sqrt(all[c] + g.eps));
		bias[c] = (g.bias != nullptr ? g.bias[c] : 0) - bias[c] * scale[c];
	}
	float* y = g.y + image * g.pixels * g.channels;
	convolution::with(static_cast<Activation>(g.activation), [&]<Activation A>() { write<A, W>(g, x, {mean, scale, bias}, y); });
}

}  // namespace
}  // namespace tg::groups
