// What the kernels of recurrent layers are told: a sequence of inputs, and the state that each changes.
#pragma once

#include <cstdint>

namespace tg::recurrent {

enum class Cell { lstm, gru, tanh, relu };

// The vectors of sums that a new state is made of.
constexpr int gates_of(Cell c) { return c == Cell::lstm ? 4 : c == Cell::gru ? 3 : 1; }

// Sequence is what a layer makes in one direction of the rows of a batch, step by step, which may go backwards.
struct Sequence {
	Cell cell;
	int64_t steps, hidden;
	const float* inputs;  // what they give to the gates, [gates, hidden], of a row and a step
	int64_t inputs_row, inputs_step;
	const float* weight;  // what states give to them, as recurrent_weight made it
	const float* bias;    // GRU's, [hidden], of what its reset gate weighs
	const float* start;   // [rows, hidden]
	float* memory;        // LSTM's, [rows, hidden]: the last one takes the place of the first
	float* states;        // [hidden] of a row and a step
	int64_t states_row, states_step;
};

// Part is what of a sequence is computed at a time: rows, steps, and vectors of numbers of a state, each from one to another.
struct Part {
	int64_t rows, to_row;
	int64_t steps, to_step;
	int64_t vectors, to_vector;
};

}  // namespace tg::recurrent
