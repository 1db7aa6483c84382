// Recurrent layers: oneDNN and the loops over packed sequences trust in the shapes.
#include "rules.h"

namespace tg::rule {
namespace {

struct Recurrent {
	int64_t gates;
	TensorList hidden, params;
	bool biases;
	int64_t layers;
	bool bidirectional;
	int64_t width = 0, batch = 0;  // of the input

	void sequence(const Tensor& input, bool batch_first);
	void packed(const Tensor& data, const Tensor& sizes);
	void check() const;
};

void expect(const char* what, const Tensor& t, IntArrayRef want) {
	TORCH_CHECK(has(t) && t.sizes() == want, "Expected ", what, " of size ", want, ", but got ", has(t) ? t.sizes() : IntArrayRef());
}

void Recurrent::sequence(const Tensor& input, bool batch_first) {
	TORCH_CHECK(has(input) && input.dim() == 3, "Expected an input of 3 dimensions, but got ", input.dim());
	width = input.size(2);
	batch = input.size(batch_first ? 0 : 1);
	check();
}

void Recurrent::packed(const Tensor& data, const Tensor& sizes) {
	TORCH_CHECK(has(data) && data.dim() == 2, "Expected packed data of 2 dimensions, but got ", data.dim());
	rule::packed(data, sizes);
	width = data.size(1);
	batch = values(sizes)[0];
	check();
}

// check holds hidden states and weights against each other and against the input.
void Recurrent::check() const {
	TORCH_CHECK_VALUE(layers >= 1, "expected num_layers to be positive, but got ", layers);
	TORCH_CHECK(gates != 4 || hidden.size() == 2, "lstm expects two hidden states");
	int64_t directions = bidirectional ? 2 : 1;
	TORCH_CHECK_VALUE(layers <= std::numeric_limits<int32_t>::max(), "num_layers of ", layers, " is too large");
	for (const auto& h : hidden) {
		TORCH_CHECK(has(h) && h.dim() == 3, "Expected hidden states of 3 dimensions, but got ", has(h) ? h.sizes() : IntArrayRef());
	}
	auto out = hidden.front().size(2), size = hidden.back().size(2);  // they differ where the output is projected
	for (size_t i = 0; i < hidden.size(); i++) {
		expect("hidden state", hidden[i], {layers * directions, batch, i == 0 ? out : size});
	}
	std::vector<std::vector<int64_t>> sizes{{gates * size, width}, {gates * size, out}};
	if (biases) {
		sizes.insert(sizes.end(), 2, {gates * size});
	}
	if (out != size) {
		sizes.push_back({out, size});
	}
	auto each = static_cast<int64_t>(sizes.size());
	auto want = each * layers * directions;
	TORCH_CHECK(static_cast<int64_t>(params.size()) == want, "got an incorrect number of RNN parameters: expected ", want, ", got ", params.size());
	for (int64_t i = 0; i < want; i++) {
		if (i == each * directions) {
			sizes[0] = {gates * size, out * directions};
		}
		expect("parameter", params[i], sizes[i % each]);
	}
}

}  // namespace

// The batch sizes, which libtorch reads on the CPU, descend and add up to the rows of data.
void packed(const Tensor& data, const Tensor& sizes) {
	TORCH_CHECK(has(data) && data.dim() > 0, "Expected packed data of at least one dimension");
	TORCH_CHECK_VALUE(on_host(sizes) && sizes.dim() == 1 && sizes.scalar_type() == at::kLong && sizes.numel() > 0,
	                  "batch_sizes has to be a non-empty vector of int64 on the CPU");
	auto list = values(sizes);
	int64_t left = data.size(0), before = list[0];
	for (auto n : list) {
		TORCH_CHECK_VALUE(n >= 1 && n <= before, "batch_sizes have to be positive and not to ascend, but got ", n, " after ", before);
		TORCH_CHECK_VALUE(!__builtin_sub_overflow(left, n, &left), "batch_sizes have to sum to the ", data.size(0), " rows of data, but got more");
		before = n;
	}
	TORCH_CHECK_VALUE(left == 0, "batch_sizes have to sum to the ", data.size(0), " rows of data, but got ", data.size(0) - left);
}

void lstm(const Tensor& input, TensorList hidden, TensorList params, bool biases, int64_t layers, bool bidirectional, bool batch_first) {
	Recurrent{4, hidden, params, biases, layers, bidirectional}.sequence(input, batch_first);
}

void gru(const Tensor& input, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional, bool batch_first) {
	Recurrent{3, hidden, params, biases, layers, bidirectional}.sequence(input, batch_first);
}

void rnn(const Tensor& input, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional, bool batch_first) {
	Recurrent{1, hidden, params, biases, layers, bidirectional}.sequence(input, batch_first);
}

void packed_lstm(const Tensor& data, const Tensor& sizes, TensorList hidden, TensorList params, bool biases, int64_t layers, bool bidirectional) {
	Recurrent{4, hidden, params, biases, layers, bidirectional}.packed(data, sizes);
}

void packed_gru(const Tensor& data, const Tensor& sizes, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional) {
	Recurrent{3, hidden, params, biases, layers, bidirectional}.packed(data, sizes);
}

void packed_rnn(const Tensor& data, const Tensor& sizes, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional) {
	Recurrent{1, hidden, params, biases, layers, bidirectional}.packed(data, sizes);
}

}  // namespace tg::rule
