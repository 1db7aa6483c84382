// Recurrent layers: each state is a product of the one before with a square of weights, of which more come from afar than are multiplied
// in the same time.
#pragma once

#include "cell.h"
#include "direct.h"

namespace tg::recurrent {
namespace {

using convolution::exponential;
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

// Block is a vector of a new state's numbers, of which some are there.
struct Block {
	const Sequence& s;
	int64_t at, some;

	template <int W>
	INLINE Vec<W> of(const float* numbers) const {
		return load_at_most<W>(numbers + at, some);
	}

	// What a row's state becomes.
	template <Cell C, int W>
	INLINE void finish(const Vec<W>* sums, const float* inputs, const float* before, float* memory, float* to) const {
		auto given = [&](int gate) __attribute__((always_inline)) { return of<W>(inputs + gate * s.hidden); };
		Vec<W> state;
		if constexpr (C == Cell::lstm) {
			Vec<W> in = sigmoid(given(0) + sums[0]), forget = sigmoid(given(1) + sums[1]);
			Vec<W> cell = forget * of<W>(memory) + in * tangent(given(2) + sums[2]);
			store_at_most(memory + at, cell, some);
			state = sigmoid(given(3) + sums[3]) * tangent(cell);
		} else if constexpr (C == Cell::gru) {
			Vec<W> reset = sigmoid(given(0) + sums[0]), update = sigmoid(given(1) + sums[1]);
			Vec<W> fresh = tangent(given(2) + reset * (sums[2] + of<W>(s.bias)));
			state = (of<W>(before) - fresh) * update + fresh;
		} else if constexpr (C == Cell::tanh) {
			state = tangent(given(0) + sums[0]);
		} else {
			state = convolution::larger(Vec<W>{}, given(0) + sums[0]);
		}
		store_at_most(to + at, state, some);
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

// A step of R rows from one on: a vector of their states.
template <Cell C, int W, int R>
void step(const Block& b, int64_t step, int64_t row) {
	constexpr int G = gates_of(C);
	const Sequence& s = b.s;
	const float* before[R];
	for (int r = 0; r < R; r++) {
		before[r] = step == 0 ? s.start + (row + r) * s.hidden : s.states + (row + r) * s.states_row + (step - 1) * s.states_step;
	}
	Vec<W> sums[R][G];
	multiply<G, W, R>(s.hidden, before, s.weight + b.at * s.hidden * G, sums);
	for (int r = 0; r < R; r++) {
		const int64_t own = row + r;
		float* memory = C == Cell::lstm ? s.memory + own * s.hidden : nullptr;
		b.finish<C, W>(sums[r], s.inputs + own * s.inputs_row + step * s.inputs_step, before[r], memory,
		               s.states + own * s.states_row + step * s.states_step);
	}
}

// The same of the rows from first to last, R at a time and then fewer.
template <Cell C, int W, int R>
INLINE void steps(const Block& b, int64_t number, int64_t first, int64_t last) {
	for (; first + R <= last; first += R) {
		step<C, W, R>(b, number, first);
	}
	if constexpr (R > 1) {
		steps<C, W, R - 1>(b, number, first, last);
	}
}

// All steps of the rows from first to last. Weights are taken to and fro: those that came last are near when the next step begins.
template <Cell C, int W>
void run(const Sequence& s, int64_t first, int64_t last) {
	constexpr int R = C == Cell::lstm ? 3 : 4;
	const int64_t blocks = (s.hidden + W - 1) / W;
	for (int64_t i = 0; i < s.steps; i++) {
		for (int64_t j = 0; j < blocks; j++) {
			const int64_t at = (i % 2 == 0 ? j : blocks - 1 - j) * W;
			const Block block{s, at, s.hidden - at};
			steps<C, W, R>(block, i, first, last);
		}
	}
}

template <int W>
void recurrent(const Sequence& s, int64_t first, int64_t last) {
	switch (s.cell) {
		case Cell::lstm: return run<Cell::lstm, W>(s, first, last);
		case Cell::gru: return run<Cell::gru, W>(s, first, last);
		case Cell::tanh: return run<Cell::tanh, W>(s, first, last);
		case Cell::relu: return run<Cell::relu, W>(s, first, last);
	}
}

}  // namespace
}  // namespace tg::recurrent
