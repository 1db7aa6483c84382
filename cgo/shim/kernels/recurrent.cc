// Recurrent layers as libtorch's lstm, gru, rnn_tanh and rnn_relu compute them without dropout.
#include <ATen/Parallel.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "cell.h"
#include "layers.h"
#include "weights.h"

namespace tg::recurrent {
namespace {

using at::Tensor;

constexpr int64_t parts = 3;  // weights for inputs, for states, and the bias

const convolution::Processor& processor() {
	const auto* best = convolution::best_processor();
	TORCH_CHECK_NOT_IMPLEMENTED(best != nullptr, "this processor has no kernels for recurrent layers");
	return *best;
}

// Weights [gates x hidden, hidden]: [vectors, hidden, gates, numbers of a vector], with zeros for what the last vector has too many.
Tensor recurrent_weight(const Tensor& weight, int64_t gates) {
	TORCH_CHECK_VALUE(weight.dim() == 2 && weight.scalar_type() == at::kFloat && gates > 0 && weight.size(1) > 0 &&
	                      weight.size(0) == gates * weight.size(1),
	                  "expected squares of float32 weights for ", gates, " gates, got ", weight.sizes());
	const int64_t hidden = weight.size(1), vector = processor().images.vector, all = convolution::whole(hidden, vector);
	auto rows = at::constant_pad_nd(weight.reshape({gates, hidden, hidden}), {0, 0, 0, all - hidden});
	return rows.reshape({gates, all / vector, vector, hidden}).permute({1, 3, 0, 2}).contiguous();
}

// What lies from one to another of numbers that are counted through sequences, of each by itself.
template <class Do>
void each_of(int64_t numbers, int64_t from, int64_t to, const Do& run) {
	for (int64_t i = from / numbers; from < to; i++) {
		const int64_t end = std::min(to, (i + 1) * numbers);
		run(i, from - i * numbers, end - i * numbers);
		from = end;
	}
}

// Layers of one kind of cells, whose inputs are [steps, rows, numbers], or rows first.
struct Layers {
	Cell cell;
	Tensor h, c;  // the states before, [layers x directions, rows, hidden]; of c, which LSTM alone has, those that are left
	at::TensorList weights;
	bool bidirectional;
	bool batch_first;  // of the first layer's inputs, and of what those of the last become
	int64_t rows, hidden;

	Layers(Cell kind, const Tensor& x, const Tensor& states, at::TensorList all, bool both, bool rows_first)
	    : cell(kind), h(states.contiguous()), weights(all), bidirectional(both), batch_first(rows_first),
	      rows(x.dim() == 3 ? x.size(batch_first ? 0 : 1) : 0), hidden(states.dim() == 3 ? states.size(2) : 0) {
		bool fits = x.dim() == 3 && x.size(batch_first ? 1 : 0) > 0 && x.size(2) > 0 && x.scalar_type() == at::kFloat;
		TORCH_CHECK_VALUE(fits, "expected sequences of float32, got ", x.sizes(), " of ", x.scalar_type());
		check(states);
		TORCH_CHECK_VALUE(h.size(0) > 0 && h.size(0) % directions() == 0 && static_cast<int64_t>(all.size()) == parts * h.size(0), all.size(),
		                  " weights do not fit states of ", states.sizes());
	}

	void check(const Tensor& states) const {
		TORCH_CHECK_VALUE(states.dim() == 3 && states.scalar_type() == at::kFloat && states.sizes() == h.sizes() && states.size(1) == rows &&
		                      hidden > 0,
		                  "states of ", states.sizes(), " do not fit ", rows, " sequences");
	}

	int64_t directions() const { return bidirectional ? 2 : 1; }
	int64_t outputs() const { return gates_of(cell) * hidden; }

	// The sequences of one direction of a layer, whose states are numbers from one on of each output. The steps of a row of inputs may be
	// neighbours, or the rows of a step.
	Sequence sequence(int64_t own, const Tensor& inputs, const Tensor& y, bool steps_last, bool backwards) {
		const int64_t width = y.size(2), vector = processor().images.vector;
		const auto &weight = weights[own * parts + 1], &bias = weights[own * parts + 2];
		const int64_t sizes[] = {(hidden + vector - 1) / vector, hidden, gates_of(cell), vector};
		TORCH_CHECK_VALUE(weight.sizes() == at::IntArrayRef(sizes) && weight.is_contiguous() && weight.scalar_type() == at::kFloat,
		                  "weights of ", weight.sizes(), " are not those of recurrent_weight for ", hidden, " numbers");
		Sequence s{};
		s.cell = cell, s.steps = y.size(0), s.hidden = hidden;
		s.inputs = inputs.const_data_ptr<float>(), s.states = y.mutable_data_ptr<float>() + own % directions() * hidden;
		s.inputs_row = steps_last ? s.steps * outputs() : outputs(), s.inputs_step = steps_last ? outputs() : rows * outputs();
		s.states_row = width, s.states_step = rows * width;
		if (backwards) {
			s.inputs += (s.steps - 1) * s.inputs_step, s.states += (s.steps - 1) * s.states_step;
			s.inputs_step = -s.inputs_step, s.states_step = -s.states_step;
		}
		s.weight = weight.const_data_ptr<float>();
		s.bias = cell == Cell::gru ? bias.const_data_ptr<float>() + outputs() : nullptr;
		s.start = h.const_data_ptr<float>() + own * rows * hidden;
		s.memory = c.defined() ? c.mutable_data_ptr<float>() + own * rows * hidden : nullptr;
		return s;
	}

	// What inputs give to the gates of a direction of a layer.
	Tensor inputs(int64_t own, const Tensor& x) const {
		const auto& bias = weights[own * parts + 2];
		const int64_t more = cell == Cell::gru ? hidden : 0;
		TORCH_CHECK_VALUE(bias.dim() == 1 && bias.size(0) == outputs() + more && bias.is_contiguous() && bias.scalar_type() == at::kFloat,
		                  "a bias of ", bias.sizes(), " does not fit ", hidden, " numbers");
		return convolution::linear(x, weights[own * parts], outputs(), bias.narrow(0, 0, outputs()), "none");
	}

	// Threads take rows, and where there are too few of them vectors of each step's states.
	void compute(const Sequence* sequences, int64_t steps) const {
		constexpr int64_t enough = 1 << 18, worth = 1 << 16;  // of multiplications for a thread: in all steps, and in one
		const int64_t vector = processor().images.vector, vectors = (hidden + vector - 1) / vector, work = outputs() * hidden;
		const bool few = directions() * rows < at::get_num_threads() && rows * work >= 2 * worth;
		if (!few) {
			at::parallel_for(0, directions() * rows, std::max<int64_t>(1, enough / (steps * work)), [&](int64_t from, int64_t to) {
				each_of(rows, from, to, [&](int64_t own, int64_t row, int64_t end) {
					processor().recurrent(sequences[own], {row, end, 0, steps, 0, vectors});
				});
			});
			return;
		}
		for (int64_t i = 0; i < steps; i++) {
			at::parallel_for(0, directions() * vectors, std::max<int64_t>(1, worth * vectors / (rows * work)), [&](int64_t from, int64_t to) {
				each_of(vectors, from, to, [&](int64_t own, int64_t first, int64_t end) {
					processor().recurrent(sequences[own], {0, rows, i, i + 1, first, end});
				});
			});
		}
	}

	// A layer's outputs, [steps, rows, directions x hidden]. Its last states go to hy.
	Tensor layer(int64_t number, const Tensor& x, const Tensor& hy) {
		const bool steps_last = batch_first && number == 0;
		const int64_t steps = x.size(steps_last ? 1 : 0), first = number * directions();
		auto y = at::empty({steps, rows, directions() * hidden}, x.options());
		Tensor given[2];
		Sequence sequences[2];
		for (int64_t i = 0; i < directions(); i++) {
			given[i] = inputs(first + i, x);
			sequences[i] = sequence(first + i, given[i], y, steps_last, i > 0);
		}
		compute(sequences, steps);
		for (int64_t i = 0; i < directions() * rows; i++) {
			const Sequence& s = sequences[i / rows];
			const float* last = s.states + i % rows * s.states_row + (steps - 1) * s.states_step;
			memcpy(hy.mutable_data_ptr<float>() + (first * rows + i) * hidden, last, hidden * sizeof(float));
		}
		return y;
	}

	// The outputs of all layers, which lie as libtorch's, and the last states.
	std::tuple<Tensor, Tensor> run(const Tensor& x) {
		auto hy = at::empty_like(h);
		Tensor y = x;
		for (int64_t i = 0; i < h.size(0) / directions(); i++) {
			y = layer(i, y, hy);
		}
		return {batch_first ? y.transpose(0, 1) : y, hy};
	}
};

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& x, const Tensor& h, const Tensor& c, at::TensorList weights, bool bidirectional,
                                        bool batch_first) {
	Layers layers(Cell::lstm, x, h, weights, bidirectional, batch_first);
	layers.check(c);
	layers.c = c.clone(at::MemoryFormat::Contiguous);
	auto [y, hy] = layers.run(x);
	return {y, hy, layers.c};
}

template <Cell C>
std::tuple<Tensor, Tensor> others(const Tensor& x, const Tensor& h, at::TensorList weights, bool bidirectional, bool batch_first) {
	return Layers(C, x, h, weights, bidirectional, batch_first).run(x);
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("recurrent_weight(Tensor weight, int gates) -> Tensor");
	m.def("lstm(Tensor x, Tensor h, Tensor c, Tensor[] weights, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)");
	m.def("gru(Tensor x, Tensor h, Tensor[] weights, bool bidirectional, bool batch_first) -> (Tensor, Tensor)");
	m.def("rnn_tanh(Tensor x, Tensor h, Tensor[] weights, bool bidirectional, bool batch_first) -> (Tensor, Tensor)");
	m.def("rnn_relu(Tensor x, Tensor h, Tensor[] weights, bool bidirectional, bool batch_first) -> (Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("recurrent_weight", recurrent_weight);
	m.impl("lstm", lstm);
	m.impl("gru", others<Cell::gru>);
	m.impl("rnn_tanh", others<Cell::tanh>);
	m.impl("rnn_relu", others<Cell::relu>);
}

}  // namespace
}  // namespace tg::recurrent
