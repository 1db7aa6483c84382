// Winograd's minimal filtering, F(2 x 2, 3 x 3), with steps of two, too, F(2 x 4, 3 x 3), F(4 x 4, 3 x 3) and F(3 x 3, 4 x 4), after Lavin
// and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015): tiles of the images become numbers, of which those at the same place
// of all tiles are multiplied by their own weights, and numbers become tiles of outputs.
#pragma once

#include "direct.h"

namespace tg::convolution {
namespace {

// One side of a tile, of so many outputs that lie S pixels apart: the inputs become numbers, and numbers become outputs, step apart. At the
// border of an image are fewer outputs, some, which do not see the last inputs: so those may be anything, and rest makes them such that as
// many of the last numbers vanish.
template <int outputs, int S>
struct Side;

template <>
struct Side<2, 1> {
	template <class V>
	static INLINE void rest(V* d, int64_t some) {
		if (some < 2) {
			d[3] = d[1];
		}
	}

	template <class V>
	static INLINE void in(const V* d, V* to, int step) {
		to[0] = d[2] - d[0];
		to[step] = d[2] + d[1];
		to[2 * step] = d[2] - d[1];
		to[3 * step] = d[3] - d[1];
	}

	template <class V>
	static INLINE void out(const V* m, V* to, int step) {
		V a = m[1], b = m[2];
		to[0] = m[0] + a + b;
		to[step] = a - b + m[3];
	}
};

template <>
struct Side<4, 1> {
	static constexpr float a = kNear, a2 = a * a, b = kFar, b2 = b * b;

	template <class V>
	static INLINE void rest(V* d, int64_t some) {
		if (some < 2) {
			d[3] = a2 * d[1];
		}
		if (some < 3) {
			d[4] = a2 * d[2] + b * (d[3] - a2 * d[1]);
		}
		if (some < 4) {
			d[5] = (a2 + b2) * d[3] - a2 * b2 * d[1];
		}
	}

	template <class V>
	static INLINE void in(const V* d, V* to, int step) {
		V near = d[4] - b2 * d[2], far = d[4] - a2 * d[2];
		V odd_near = a * (d[3] - b2 * d[1]), odd_far = b * (d[3] - a2 * d[1]);
		to[0] = a2 * b2 * d[0] - (a2 + b2) * d[2] + d[4];
		to[step] = near + odd_near;
		to[2 * step] = near - odd_near;
		to[3 * step] = far + odd_far;
		to[4 * step] = far - odd_far;
		to[5 * step] = a2 * b2 * d[1] - (a2 + b2) * d[3] + d[5];
	}

	template <class V>
	static INLINE void out(const V* m, V* to, int step) {
		V near = m[1] + m[2], far = m[3] + m[4];
		V odd_near = m[1] - m[2], odd_far = m[3] - m[4];
		to[0] = m[0] + near + far;
		to[step] = a * odd_near + b * odd_far;
		to[2 * step] = a2 * near + b2 * far;
		to[3 * step] = a2 * a * odd_near + b2 * b * odd_far + m[5];
	}
};

// Three outputs that see four inputs each have the numbers of four that see three.
template <>
struct Side<3, 1> : Side<4, 1> {
	template <class V>
	static INLINE void rest(V* d, int64_t some) {
		Side<4, 1>::rest(d, some + 1);
	}

	template <class V>
	static INLINE void out(const V* m, V* to, int step) {
		V near = m[1] + m[2], far = m[3] + m[4];
		to[0] = m[0] + near + far;
		to[step] = a * (m[1] - m[2]) + b * (m[3] - m[4]);
		to[2 * step] = a2 * near + b2 * far + m[5];
	}
};

// Outputs two apart see the first and the last weight with every other input, of which F(2, 2) takes three, and the second weight with the
// inputs between. What is for one output alone has become one sum.
template <>
struct Side<2, 2> {
	template <class V>
	static INLINE void rest(V* d, int64_t some) {
		if (some < 2) {
			d[3] = V{};
			d[4] = d[2];
		}
	}

	template <class V>
	static INLINE void in(const V* d, V* to, int step) {
		to[0] = d[0] - d[2];
		to[step] = d[1];
		to[2 * step] = d[2];
		to[3 * step] = d[4] - d[2];
		to[4 * step] = d[3];
	}

	template <class V>
	static INLINE void out(const V* m, V* to, int step) {
		to[0] = m[0] + m[1];
		to[step] = m[1] + m[2];
	}
};

// Tiles of images, which become numbers, and sums of these, which become results. What they are numbers of is known where they are read and
// written alone, so that all else is compiled once.
template <int W, int F>
struct Tiles {
	static constexpr Form form = kForms[F];
	static constexpr int rows = form.rows(), columns = form.columns(), groups = form.groups_across();
	using Down = Side<form.down, form.step>;
	using Across = Side<form.across, form.step>;

	const Task& c;
	int64_t block;
	float* sums;  // [sums, block, outputs]

	int64_t lying() const { return form.lying(c.channels, W); }

	int64_t image(int64_t tile) const { return tile / (form.tiles_down(c) * form.tiles_across(c)); }
	int64_t top(int64_t tile) const { return tile / form.tiles_across(c) % form.tiles_down(c) * form.down; }
	int64_t side(int64_t tile) const { return tile % form.tiles_across(c) * form.across; }

	// The outputs that a tile has.
	int64_t height(int64_t tile) const { return least(form.down, c.out_height - top(tile)); }
	int64_t width(int64_t tile) const { return least(form.across, c.out_width - side(tile)); }
	bool whole(int64_t tile) const { return height(tile) == form.down && width(tile) == form.across; }

	// Makes numbers of T, [numbers, block, lying], of images of M, around which are zeros, [lying].
	template <class M, class T>
	void in(int64_t tile, int64_t at, const M* zeros, T* numbers) const {
		constexpr int high = form.fold * rows, wide = form.fold * columns;
		const int64_t y = top(tile) * form.stride() - c.above, x = side(tile) * form.stride() - c.left;
		const int64_t row = c.width * c.channels, pixel = form.fold * c.channels;
		const M* corner = static_cast<const M*>(c.x) + (image(tile) * c.height + y) * row + x * c.channels;
		if (y >= 0 && y + high <= c.height && x >= 0 && x + wide <= c.width && whole(tile)) {
			return in<true>(tile, numbers + at * lying(), [&](int i, int j) { return corner + i * row + j * pixel; });
		}
		const M* from[high * columns];
		for (int i = 0; i < high; i++) {
			for (int j = 0; j < columns; j++) {
				bool inside = y + i >= 0 && y + i < c.height && x + form.fold * j >= 0 && x + form.fold * (j + 1) <= c.width;
				from[i * columns + j] = inside ? corner + i * row + j * pixel : zeros;
			}
		}
		in<false>(tile, numbers + at * lying(), [&](int i, int j) { return from[i * columns + j]; });
	}

	// Place tells where the inputs of a row of pixels lie. Of folded images that is one of those that are one, which fills no more than a
	// vector: what is behind it in there is overwritten by the next, or nobody reads it. Two rows that fill no more are one vector.
	template <bool Whole, class T, class Place>
	INLINE void in(int64_t tile, T* to, const Place& place) const {
		const int64_t row = form.fold * c.channels;
		if (form.is_vector(c.channels, W)) {
			return vectors_in<Whole>(tile, to, [&](int i, int j) {
				return load_both<W>(place(form.fold * i, j), row, place(form.fold * i + 1, j));
			});
		}
		for (int f = 0; f < form.fold; f++, to += row) {
			for (int64_t k = 0; k < (form.fold == 1 ? c.channels : 1); k += W) {
				vectors_in<Whole>(tile, to + k, [&](int i, int j) { return load<W>(place(form.fold * i + f, j) + k); });
			}
		}
	}

	template <bool Whole, class T, class Input>
	INLINE void vectors_in(int64_t tile, T* to, const Input& input) const {
		const int64_t next = apart<T>(block, lying());
		Vec<W> half[rows * columns], line[rows], numbers[columns];
		for (int j = 0; j < columns; j++) {
			for (int i = 0; i < rows; i++) {
				line[i] = input(i, j);
			}
			if (!Whole) {
				Down::rest(line, height(tile));
			}
			Down::in(line, half + j, columns);
		}
		for (int i = 0; i < rows; i++) {
			if (!Whole) {
				Across::rest(half + i * columns, width(tile));
			}
			Across::in(half + i * columns, numbers, 1);
			for (int j = 0; j < columns; j++) {
				store(to + form.place(i, j) * next, numbers[j]);
			}
		}
	}

	// Makes results of N.
	template <class N>
	__attribute__((noinline)) void out(int64_t tile, int64_t at) const {
		whole(tile) ? out<N, true>(tile, at) : out<N, false>(tile, at);
	}

	template <class N, bool Whole>
	INLINE void out(int64_t tile, int64_t at) const {
		const float* from = sums + at * c.outputs;
		int64_t first = (image(tile) * c.out_height + top(tile)) * c.out_width + side(tile);
		int64_t some_down = height(tile), some_across = width(tile);
		const int64_t next = apart<float>(block, c.outputs);
		for (int64_t k = 0; k < c.outputs; k += W) {
			Vec<W> half[form.down * groups], line[form.groups_down()], y[form.across], bias;
			biases<W, 1>(c, k, &bias);
			for (int j = 0; j < groups; j++) {
				for (int i = 0; i < form.groups_down(); i++) {
					bool there = Whole || (form.start(i) < form.seen(some_down) && form.start(j) < form.seen(some_across));
					line[i] = there ? load<W>(from + (i * groups + j) * next + k) : Vec<W>{};
				}
				Down::out(line, half + j, groups);
			}
			for (int64_t i = 0; i < some_down; i++) {
				Across::out(half + i * groups, y, 1);
				Sums<W, 1, form.across> sums;
				for (int j = 0; j < form.across; j++) {
					sums.rows[j][0] = y[j] + bias;
				}
				int64_t place = (first + i * c.out_width) * c.outputs + k;
				if (some_across == form.across) {
					finish<N>(c, sums, place, k);
					continue;
				}
				for (int64_t j = 0; j < some_across; j++) {
					finish<N, W, 1, 1>(c, {{{sums.rows[j][0]}}}, place + j * c.outputs, k);
				}
			}
		}
	}
};

// Block is where the numbers of some tiles lie: first those of a corner, then the others of the last column, whole ones, and the others of
// the last row. So those that have a number follow upon each other.
template <class Tiles>
struct Block {
	enum Kind { corner, right, inner, below, kinds };
	static constexpr Form form = Tiles::form;

	const Tiles& tiles;
	int64_t first, n;
	int64_t starts[kinds + 1] = {};

	Block(const Tiles& t, int64_t tile, int64_t count) : tiles(t), first(tile), n(count) {
		for (int64_t i = 0; i < n; i++) {
			starts[kind(first + i) + 1]++;
		}
		for (int i = 0; i < kinds; i++) {
			starts[i + 1] += starts[i];
		}
	}

	Kind kind(int64_t tile) const {
		if (tiles.width(tile) < form.across) {
			return tiles.height(tile) < form.down ? corner : right;
		}
		return tiles.height(tile) < form.down ? below : inner;
	}

	// Tells of each tile and its place.
	template <class F>
	void each(const F& f) const {
		int64_t at[kinds];
		memcpy(at, starts, sizeof at);
		for (int64_t i = 0; i < n; i++) {
			f(first + i, at[kind(first + i)]++);
		}
	}

	// The places from which on, and up to which, tiles have the numbers of a group.
	int64_t begin(int down, int across) const { return !has_across(across) ? starts[inner] : !has_down(down) ? starts[right] : 0; }
	int64_t end(int down) const { return has_down(down) ? n : starts[below]; }

	// Whether the tiles of the last row, and of the last column, have the numbers of a group.
	bool has_down(int group) const { return form.start(group) < form.seen(last(tiles.c.out_height, form.down)); }
	bool has_across(int group) const { return form.start(group) < form.seen(last(tiles.c.out_width, form.across)); }
	static int64_t last(int64_t outputs, int64_t side) { return (outputs - 1) % side + 1; }
};

// Whether half as many tiles meet two panels at once: four vectors of weights need registers. Sums of few numbers, or of several parts, take 5 to 7 %
// less; for the others it makes no difference, or 3 % more.
template <int R, int F>
constexpr bool meets_pairs = R >= 12 && kForms[F].stride() == 2;

// A group's numbers of the tiles of a block, multiplied by their weights.
template <class T, int W, int R, int F>
__attribute__((noinline)) void multiply(const Block<Tiles<W, F>>& block, const T* numbers, int down, int across) {
	constexpr Form form = kForms[F];
	const auto& tiles = block.tiles;
	const Task& c = tiles.c;
	const int64_t parts = form.parts(down, across), first = form.first(down, across), depth = form.depth(c.channels);
	const int64_t lying = tiles.lying(), next = apart<T>(tiles.block, lying);
	const T* in = numbers + first * next;
	float* out = tiles.sums + (down * form.groups_across() + across) * apart<float>(tiles.block, c.outputs);
	const int64_t size = parts * depth * 2 * W;  // of a panel
	const Vec<W> none[4] = {};
	auto at = [&](int64_t t) { return in + t * lying; };
	auto run = [&]<int Q>(int64_t k) __attribute__((always_inline)) {
		const T* panel = static_cast<const T*>(c.weight) + (first * c.outputs + parts * k) * depth;
		auto done = [&](int64_t t, const auto& sums) {
			float* to = out + t * c.outputs + k;
			for (const auto& row : sums.rows) {
				for (int v = 0; v < 2 * Q; v++) {
					store(to + v * W, row[v]);
				}
				to += c.outputs;
			}
		};
		products<W, 2 * Q, R / Q>(block.begin(down, across), block.end(down), at, parts, next, Weights<T, Q>{panel, size}, depth, none, done);
	};
	int64_t k = 0;
	for (; meets_pairs<R, F> && k + 4 * W <= c.outputs; k += 4 * W) {
		run.template operator()<2>(k);
	}
	for (; k < c.outputs; k += 2 * W) {
		run.template operator()<1>(k);
	}
}

template <class M, class N, class T, int W, int R, int F>
void winograd(const Task& c, int64_t first, int64_t last, int64_t most, float* room) {
	constexpr Form form = kForms[F];
	const int64_t lying = form.lying(c.channels, W);
	memset(room, 0, lying * sizeof(float));
	const M* zeros = reinterpret_cast<M*>(room);
	T* in = reinterpret_cast<T*>(room + lying);
	float* out = room + lying + form.numbers() * apart<float>(most, lying);
	const Tiles<W, F> tiles{c, most, out};
	for (; first < last; first += most) {
		const Block block(tiles, first, least(most, last - first));
		block.each([&](int64_t tile, int64_t at) { tiles.in(tile, at, zeros, in); });
		for (int down = 0; down < form.groups_down(); down++) {
			for (int across = 0; across < form.groups_across(); across++) {
				multiply<T, W, R>(block, in, down, across);
			}
		}
		block.each([&](int64_t tile, int64_t at) { tiles.template out<N>(tile, at); });
	}
}

}  // namespace
}  // namespace tg::convolution
