#include "softmax.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/_log_softmax_backward_data_cpu_dispatch.h>
#include <ATen/ops/_log_softmax_cpu_dispatch.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "plain.h"
#include "processor.h"
#include "trial.h"
#include "weights.h"

// Functions of vectors that libtorch computes with, where it shows them.
extern "C" {
__attribute__((weak)) void Sleef_expf16_u10();
__attribute__((weak)) void Sleef_logf16_u10();
__attribute__((weak)) void Sleef_expf8_u10();
__attribute__((weak)) void Sleef_logf8_u10();
}

namespace tg::rows {
namespace {

using at::Tensor;
using convolution::Processor;

constexpr int64_t most = 16;  // numbers of a vector

// Whether rows of float32 lie side by side, each shorter than a vector.
bool lie(const Tensor& x, int64_t vector) {
	return is_plain(x) && x.is_contiguous() && x.dim() > 0 && x.size(-1) > 1 && x.size(-1) < vector && x.numel() > 0;
}

// The kernels for the last dimension of x; null where there are none.
const Processor* kernels_for(const Tensor& x, int64_t dim) {
	const auto* k = convolution::best_processor();
	return k != nullptr && lie(x, k->images.vector) && (dim == -1 || dim == x.dim() - 1) ? k : nullptr;
}

ShortRows rows_of(const Processor& k, const float* x, const float* y, float* to, int64_t columns) {
	if (!processor::abilities().functions) {
		return {x, y, to, columns, nullptr, nullptr};
	}
	const bool wide = k.images.vector == most;
	return {x, y, to, columns, wide ? Sleef_expf16_u10 : Sleef_expf8_u10, wide ? Sleef_logf16_u10 : Sleef_logf8_u10};
}

void in_parts(int64_t rows, const ShortRows& r, void (*run)(const ShortRows&, int64_t, int64_t)) {
	constexpr int64_t enough = 1 << 11;  // rows for a thread
	at::parallel_for(0, rows, enough, [&](int64_t first, int64_t last) { run(r, first, last); });
}

Tensor computed(const Processor& k, const Tensor& x) {
	Tensor to = at::detail::empty_cpu(x.sizes(), at::kFloat);  // no call of an operator, as a profiler sees it
	const int64_t columns = x.size(-1);
	in_parts(x.numel() / columns, rows_of(k, x.const_data_ptr<float>(), nullptr, to.mutable_data_ptr<float>(), columns), k.log_softmax);
	return to;
}

Tensor derivative(const Processor& k, const Tensor& gradient, const Tensor& y) {
	Tensor to = at::detail::empty_cpu(y.sizes(), at::kFloat);
	const int64_t columns = y.size(-1);
	in_parts(y.numel() / columns,
	         rows_of(k, gradient.const_data_ptr<float>(), y.const_data_ptr<float>(), to.mutable_data_ptr<float>(), columns),
	         k.log_softmax_derivative);
	return to;
}

// Rows of made-up numbers, some of which have what has no bound, no value or a sign alone.
Tensor numbers(uint64_t seed, int64_t columns) {
	constexpr int64_t rows = 61;
	constexpr float inf = std::numeric_limits<float>::infinity();
	constexpr float odd[] = {0, -0.0F, inf, -inf, std::numeric_limits<float>::quiet_NaN(), -87.5F, 1e-40F, 3e38F};
	Tensor t = at::detail::empty_cpu({rows, columns}, at::kFloat);
	auto* to = t.mutable_data_ptr<float>();
	for (int64_t i = 0; i < rows * columns; i++) {
		const int32_t bits = made_up(seed);
		to[i] = std::ldexp(static_cast<float>(bits), (bits & 7) - 34);
		if (i / columns % 4 == 0) {
			to[i] = odd[static_cast<uint32_t>(made_up(seed)) % std::size(odd)];
		}
	}
	return t;
}

// Whether our kernels make libtorch's bits of rows of so many numbers.
bool equals_libtorch(const Processor& k, int64_t columns) {
	static std::array<Verdict, most> verdicts;
	const ShortRows r = rows_of(k, nullptr, nullptr, nullptr, columns);
	return r.exp != nullptr && r.log != nullptr && verdicts[columns].holds([&] {
		auto x = numbers(1, columns), gradient = numbers(2, columns), y = at::cpu::_log_softmax(x, -1, false);
		return same_bits(computed(k, x), y) &&
		       same_bits(derivative(k, gradient, y), at::cpu::_log_softmax_backward_data(gradient, y, -1, at::kFloat));
	});
}

// What this processor makes of short rows with vectors of so many numbers.
Tensor log_softmax_of_rows(const Tensor& x, const std::optional<Tensor>& y, int64_t vector) {
	const Processor& k = convolution::processor_of(vector);
	const ShortRows r = rows_of(k, nullptr, nullptr, nullptr, 1);
	TORCH_CHECK(r.exp != nullptr && r.log != nullptr, "this libtorch does not show its functions of vectors");
	for (const Tensor& t : {x, y.value_or(x)}) {
		TORCH_CHECK_VALUE(lie(t, vector) && t.sizes() == x.sizes(), "expected rows of 2 to ", vector - 1, " numbers of float32 side by side, got ",
		                  t.sizes(), " of ", t.scalar_type());
	}
	return y ? derivative(k, x, *y) : computed(k, x);
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("log_softmax_of_rows(Tensor x, Tensor? y, int vector) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("log_softmax_of_rows", log_softmax_of_rows); }

}  // namespace

Tensor log_softmax(const Tensor& x, int64_t dim, bool half_to_float) {
	const Processor* k = half_to_float ? nullptr : kernels_for(x, dim);
	return k != nullptr && equals_libtorch(*k, x.size(-1)) ? computed(*k, x) : at::cpu::_log_softmax(x, dim, half_to_float);
}

Tensor log_softmax_backward(const Tensor& gradient, const Tensor& y, int64_t dim, at::ScalarType dtype) {
	const bool alike = gradient.sizes() == y.sizes() && dtype == at::kFloat && kernels_for(gradient, dim) != nullptr;
	const Processor* k = alike ? kernels_for(y, dim) : nullptr;
	return k != nullptr && equals_libtorch(*k, y.size(-1)) ? derivative(*k, gradient, y)
	                                                        : at::cpu::_log_softmax_backward_data(gradient, y, dim, dtype);
}

}  // namespace tg::rows
