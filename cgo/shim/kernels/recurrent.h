// Recurrent layers: each state is a product of the one before with a square of weights, of which more come from afar than are multiplied
// in the same time.
#pragma once

#include "cell.h"
#include "direct.h"

namespace tg::recurrent {
namespace {

using convolution::exponential;
using convolution::in_rows;
using convolution::least;
using convolution::load;
using convolution::load_at_most;
using convolution::store_at_most;
using convolution::unrolled;
using convolution::Vec;

template <class V>
INLINE V sigmoid(V x) {
	return 1.0f / (exponential(-x) + 1.0f);
}

template <class V>
INLINE V tangent(V x) {
	return 1.0f - 2.0f / (exponential(x + x) + 1.0f);
}

// Block is a vector of the numbers that states become in a step, of which some are there.
struct Block {
	const Sequence& s;
	int64_t step, at, some;

	template <int W>
	INLINE Vec<W> of(const float* numbers) const {
		return load_at_most<W>(numbers + at, some);
	}

	INLINE const float* before(int64_t row) const {
		return step == 0 ? s.start + row * s.hidden : s.states + row * s.states_row + (step - 1) * s.states_step;
	}

	// What an input gives to a gate of a row.
	template <int W>
	INLINE Vec<W> given(int64_t row, int gate) const {
		return of<W>(s.inputs + row * s.inputs_row + step * s.inputs_step + gate * s.hidden);
	}

	// What a row's state is made of, as far as the state itself waits for it: LSTM's cell, and what GRU's reset gate leaves.
	template <Cell C, int W>
	INLINE void prepare(int64_t row, Vec<W>* sums) const {
		if constexpr (C == Cell::lstm) {
			float* memory = s.memory + row * s.hidden;
			const Vec<W> in = sigmoid(given<W>(row, 0) + sums[0]), forget = sigmoid(given<W>(row, 1) + sums[1]);
			sums[0] = forget * of<W>(memory) + in * tangent(given<W>(row, 2) + sums[2]);
			store_at_most(memory + at, sums[0], some);
		} else if constexpr (C == Cell::gru) {
			sums[0] = sigmoid(given<W>(row, 0) + sums[0]) * (sums[2] + of<W>(s.bias));
		}
	}

	// What a row's state becomes.
	template <Cell C, int W>
	INLINE void finish(int64_t row, const Vec<W>* sums) const {
		Vec<W> state;
		if constexpr (C == Cell::lstm) {
			state = sigmoid(given<W>(row, 3) + sums[3]) * tangent(sums[0]);
		} else if constexpr (C == Cell::gru) {
			const Vec<W> update = sigmoid(given<W>(row, 1) + sums[1]), fresh = tangent(given<W>(row, 2) + sums[0]);
			state = (of<W>(before(row)) - fresh) * update + fresh;
		} else if constexpr (C == Cell::tanh) {
			state = tangent(given<W>(row, 0) + sums[0]);
		} else {
			state = convolution::larger(Vec<W>{}, given<W>(row, 0) + sums[0]);
		}
		store_at_most(s.states + row * s.states_row + step * s.states_step + at, state, some);
	}

	// The same of the rows from first to last, all of which are prepared before one waits for what it was prepared with.
	template <Cell C, int W>
	INLINE void finish(int64_t first, int64_t last, Vec<W> (*sums)[gates_of(C)]) const {
		for (int64_t row = first; row < last; row++) {
			prepare<C, W>(row, sums[row - first]);
		}
		for (int64_t row = first; row < last; row++) {
			finish<C, W>(row, sums[row - first]);
		}
	}
};

// R states times a panel of weights. Where these are few sums, they are made in several chains: one would wait for its last addition. The
// fewer of numbers and weights that meet stay in registers.
template <int G, int W, int R>
INLINE void multiply(int64_t depth, const float* const* states, const float* panel, Vec<W> (*to)[G]) {
	constexpr int chains = G * R >= 8 ? 1 : 8 / (G * R);
	Vec<W> sums[chains][R][G] = {};
	auto add = [&](int chain, int64_t k) __attribute__((always_inline)) {
		const float* weights = panel + k * G * W;
		Vec<W> few[G < R ? G : R];
		if constexpr (G < R) {
			unrolled<G>([&](int g) __attribute__((always_inline)) { few[g] = load<W>(weights + g * W); });
			unrolled<R>([&](int r) __attribute__((always_inline)) {
				const auto number = states[r][k] - Vec<W>{};
				unrolled<G>([&](int g) __attribute__((always_inline)) { sums[chain][r][g] += number * few[g]; });
			});
		} else {
			unrolled<R>([&](int r) __attribute__((always_inline)) { few[r] = states[r][k] - Vec<W>{}; });
			unrolled<G>([&](int g) __attribute__((always_inline)) {
				const auto weight = load<W>(weights + g * W);
				unrolled<R>([&](int r) __attribute__((always_inline)) { sums[chain][r][g] += few[r] * weight; });
			});
		}
	};
	int64_t k = 0;
	for (; k + chains <= depth; k += chains) {
		unrolled<chains>([&](int i) __attribute__((always_inline)) { add(i, k + i); });
	}
	for (; k < depth; k++) {
		add(0, k);
	}
	unrolled<R * G>([&](int i) __attribute__((always_inline)) {
		to[i / G][i % G] = sums[0][i / G][i % G];
		unrolled<chains - 1>([&](int chain) __attribute__((always_inline)) { to[i / G][i % G] += sums[chain + 1][i / G][i % G]; });
	});
}

// What weights from one on give to the sums of R rows from one on.
template <int G, int W, int R>
INLINE void products(const Block& b, int64_t row, int64_t from, int64_t n, Vec<W> (*to)[G]) {
	const float* states[R];
	for (int r = 0; r < R; r++) {
		states[r] = b.before(row + r) + from;
	}
	multiply<G, W, R>(n, states, b.s.weight + (b.at * b.s.hidden + from * W) * G, to);
}

template <Cell C, int W, int R>
void few(const Block& b, int64_t first, int64_t last) {
	constexpr int G = gates_of(C);
	in_rows<R>(first, last, [&]<int M>(int64_t row) __attribute__((always_inline)) {
		Vec<W> sums[M][G];
		products<G, W, M>(b, row, 0, b.s.hidden, sums);
		b.finish<C, W>(row, row + M, sums);
	});
}

// At most so many rows meet some weights, which stay near, before the next ones do.
constexpr int64_t kRows = 48, kNear = 1 << 12;

template <Cell C, int W, int R>
void many(const Block& b, int64_t first, int64_t last) {
	constexpr int G = gates_of(C);
	constexpr int64_t near = kNear / (G * W);
	Vec<W> sums[kRows][G]{};
	for (int64_t k = 0; k < b.s.hidden; k += near) {
		in_rows<R>(first, last, [&]<int M>(int64_t row) __attribute__((always_inline)) {
			Vec<W> more[M][G];
			products<G, W, M>(b, row, k, least(near, b.s.hidden - k), more);
			unrolled<M * G>([&](int i) __attribute__((always_inline)) { sums[row - first + i / G][i % G] += more[i / G][i % G]; });
		});
	}
	b.finish<C, W>(first, last, sums);
}

// Weights are taken to and fro: those that came last are near when the next step begins.
template <Cell C, int W>
void run(const Sequence& s, const Part& part) {
	constexpr int R = C == Cell::lstm ? 3 : 4;
	for (int64_t i = part.steps; i < part.to_step; i++) {
		for (int64_t j = part.vectors; j < part.to_vector; j++) {
			const int64_t at = (i % 2 == 0 ? j : part.vectors + part.to_vector - 1 - j) * W;
			const Block block{s, i, at, s.hidden - at};
			for (int64_t first = part.rows; first < part.to_row; first += kRows) {
				const int64_t last = least(first + kRows, part.to_row);
				s.hidden * gates_of(C) * W > kNear && last - first > R ? many<C, W, R>(block, first, last) : few<C, W, R>(block, first, last);
			}
		}
	}
}

template <int W>
void recurrent(const Sequence& s, const Part& part) {
	switch (s.cell) {
		case Cell::lstm: return run<Cell::lstm, W>(s, part);
		case Cell::gru: return run<Cell::gru, W>(s, part);
		case Cell::tanh: return run<Cell::tanh, W>(s, part);
		case Cell::relu: return run<Cell::relu, W>(s, part);
	}
}

}  // namespace
}  // namespace tg::recurrent
