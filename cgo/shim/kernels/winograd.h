// Winograd's minimal filtering, F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3), after Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks" (2015): tiles of the images become numbers, of which those at the same place of all tiles are multiplied by their own weights,
// and numbers become tiles of outputs.
#pragma once

#include "direct.h"

namespace tg::convolution {
namespace {

// One side of a tile: the inputs become numbers, and numbers become outputs. Both are step apart.
template <int M>
struct Side;

template <>
struct Side<2> {
	template <class V>
	static INLINE void in(const V* d, V* to, int step) {
		to[0] = d[2 * step] - d[0];
		to[step] = d[2 * step] + d[step];
		to[2 * step] = d[2 * step] - d[step];
		to[3 * step] = d[3 * step] - d[step];
	}

	template <class V>
	static INLINE void out(const V* m, V* to, int step) {
		V a = m[step], b = m[2 * step];
		to[0] = m[0] + a + b;
		to[step] = a - b + m[3 * step];
	}
};

template <>
struct Side<4> {
	static constexpr float a = kNear, a2 = a * a, b = kFar, b2 = b * b;

	template <class V>
	static INLINE void in(const V* d, V* to, int step) {
		V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
		V near = d4 - b2 * d2, far = d4 - a2 * d2;
		V odd_near = a * (d3 - b2 * d1), odd_far = b * (d3 - a2 * d1);
		to[0] = a2 * b2 * d0 - (a2 + b2) * d2 + d4;
		to[step] = near + odd_near;
		to[2 * step] = near - odd_near;
		to[3 * step] = far + odd_far;
		to[4 * step] = far - odd_far;
		to[5 * step] = a2 * b2 * d1 - (a2 + b2) * d3 + d5;
	}

	template <class V>
	static INLINE void out(const V* m, V* to, int step) {
		V near = m[step] + m[2 * step], far = m[3 * step] + m[4 * step];
		V odd_near = m[step] - m[2 * step], odd_far = m[3 * step] - m[4 * step];
		to[0] = m[0] + near + far;
		to[step] = a * odd_near + b * odd_far;
		to[2 * step] = a2 * near + b2 * far;
		to[3 * step] = a2 * a * odd_near + b2 * b * odd_far + m[5 * step];
	}
};

template <int W, int M>
struct Tiles {
	static constexpr int A = M + 2;

	const Task& c;
	int64_t block;
	const float* zeros;    // [channels]
	float* numbers_in;   // [A * A, block, channels]
	float* numbers_out;  // [A * A, block, outputs]

	int64_t image(int64_t tile) const { return tile / (c.tiles_down(M) * c.tiles_across(M)); }
	int64_t top(int64_t tile) const { return tile / c.tiles_across(M) % c.tiles_down(M) * M; }
	int64_t side(int64_t tile) const { return tile % c.tiles_across(M) * M; }

	void in(int64_t tile, int64_t at) const {
		const float* from[A * A];
		for (int i = 0; i < A; i++) {
			for (int j = 0; j < A; j++) {
				int64_t y = top(tile) + i - c.above, x = side(tile) + j - c.left;
				bool inside = y >= 0 && y < c.height && x >= 0 && x < c.width;
				from[i * A + j] = inside ? c.x + ((image(tile) * c.height + y) * c.width + x) * c.channels : zeros;
			}
		}
		float* to = numbers_in + at * c.channels;
		for (int64_t k = 0; k < c.channels; k += W) {
			Vec<W> d[A * A], half[A * A];
			for (int i = 0; i < A * A; i++) {
				d[i] = load<W>(from[i] + k);
			}
			for (int j = 0; j < A; j++) {
				Side<M>::in(d + j, half + j, A);
			}
			for (int i = 0; i < A; i++) {
				Side<M>::in(half + i * A, d + i * A, 1);
			}
			for (int i = 0; i < A * A; i++) {
				store(to + i * block * c.channels + k, d[i]);
			}
		}
	}

	void out(int64_t tile, int64_t at) const {
		const float* from = numbers_out + at * c.outputs;
		int64_t first = (image(tile) * c.out_height + top(tile)) * c.out_width + side(tile);
		int64_t rows = least(M, c.out_height - top(tile)), columns = least(M, c.out_width - side(tile));
		for (int64_t k = 0; k < c.outputs; k += W) {
			Vec<W> m[A * A], half[A * A], y[M * A], bias;
			biases<W, 1>(c, k, &bias);
			for (int i = 0; i < A * A; i++) {
				m[i] = load<W>(from + i * block * c.outputs + k);
			}
			for (int j = 0; j < A; j++) {
				Side<M>::out(m + j, half + j, A);
			}
			for (int i = 0; i < M; i++) {
				Side<M>::out(half + i * A, y + i * A, 1);
			}
			for (int64_t i = 0; i < rows; i++) {
				for (int64_t j = 0; j < columns; j++) {
					finish<W, 1, 1>(c, {{{y[i * A + j] + bias}}}, (first + i * c.out_width + j) * c.outputs + k, k);
				}
			}
		}
	}
};

template <int W, int R, int M>
void winograd(const Task& c, int64_t first, int64_t last, int64_t block, float* room) {
	constexpr int64_t A = M + 2;
	memset(room, 0, c.channels * sizeof(float));
	float* in = room + c.channels;
	float* out = in + A * A * block * c.channels;
	Tiles<W, M> tiles{c, block, room, in, out};
	const Vec<W> none[2] = {};
	for (; first < last; first += block) {
		int64_t n = least(block, last - first);
		for (int64_t t = 0; t < n; t++) {
			tiles.in(first + t, t);
		}
		for (int64_t i = 0; i < A * A; i++) {
			for (int64_t k = 0; k < c.outputs; k += 2 * W) {
				const float* panel = c.weight + (i * c.outputs + k) * c.channels;
				auto at = [&](int64_t t) { return in + (i * block + t) * c.channels; };
				auto done = [&](int64_t t, const auto& sums) {
					float* to = out + (i * block + t) * c.outputs + k;
					for (const auto& row : sums.rows) {
						store(to, row[0]);
						store(to + W, row[1]);
						to += c.outputs;
					}
				};
				products<W, 2, R>(0, n, at, 1, 0, panel, c.channels, none, done);
			}
		}
		for (int64_t t = 0; t < n; t++) {
			tiles.out(first + t, t);
		}
	}
}

}  // namespace
}  // namespace tg::convolution
