#include "losses.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/nll_loss_backward_cpu_dispatch.h>
#include <ATen/ops/nll_loss_forward_cpu_dispatch.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>

#include "plain.h"
#include "trial.h"

namespace tg::losses {
namespace {

using at::Tensor;

Tensor number(float x) {
	Tensor t = at::detail::empty_cpu({}, at::kFloat);
	*t.mutable_data_ptr<float>() = x;
	return t;
}

// Calls each(row, place) for the number of each row that its class chooses; false where a class is none. Other threads may write classes: each
// is read once.
template <class Each>
bool choose(const Tensor& x, const Tensor& classes, const Each& each) {
	const volatile auto* of = classes.const_data_ptr<int64_t>();
	const int64_t rows = x.size(0), columns = x.size(1);
	for (int64_t row = 0; row < rows; row++) {
		const int64_t own = of[row];
		if (own < 0 || own >= columns) {
			return false;
		}
		each(row, row * columns + own);
	}
	return true;
}

// Sixteen numbers are added up one by one, then sixteen of such sums, and so on, of which there are so many kinds.
std::optional<Tensor> likelihood(const Tensor& x, const Tensor& classes, bool mean) {
	constexpr int bits = 4;
	float sums[8] = {};
	const auto* numbers = x.const_data_ptr<float>();
	const bool all = choose(x, classes, [&](int64_t row, int64_t place) {
		sums[0] -= numbers[place];
		for (size_t kind = 0; kind + 1 < std::size(sums) && (row >> bits * kind & 15) == 0; kind++) {
			sums[kind + 1] += sums[kind];
			sums[kind] = 0;
		}
	});
	if (!all) {
		return std::nullopt;
	}
	const float sum = std::accumulate(std::begin(sums), std::end(sums), 0.0F);
	return number(mean ? sum / static_cast<float>(x.size(0)) : sum);
}

std::optional<Tensor> derivative(float gradient, const Tensor& x, const Tensor& classes, bool mean) {
	Tensor to = at::detail::empty_cpu(x.sizes(), at::kFloat);
	auto* numbers = to.mutable_data_ptr<float>();
	memset(numbers, 0, to.nbytes());
	const float each = -(mean ? gradient / static_cast<float>(x.size(0)) : gradient);
	const bool all = choose(x, classes, [&](int64_t, int64_t place) { numbers[place] = each; });
	return all ? std::optional(to) : std::nullopt;
}

// Whether a batch of so many rows has libtorch's bits.
bool tried(int64_t rows) {
	constexpr int64_t columns = 3, no_class = -100;
	uint64_t seed = 1;
	Tensor x = at::detail::empty_cpu({rows, columns}, at::kFloat), classes = at::detail::empty_cpu({rows}, at::kLong), gradient = number(0.7F);
	for (int64_t i = 0; i < x.numel(); i++) {
		x.mutable_data_ptr<float>()[i] = -std::abs(std::ldexp(static_cast<float>(made_up(seed)), -28));
	}
	for (int64_t i = 0; i < rows; i++) {
		classes.mutable_data_ptr<int64_t>()[i] = (made_up(seed) & 0xFFFF) % columns;
	}
	for (bool mean : {false, true}) {
		const int64_t reduction = mean ? at::Reduction::Mean : at::Reduction::Sum;
		const auto [sum, count] = at::cpu::nll_loss_forward(x, classes, {}, reduction, no_class);
		const auto back = at::cpu::nll_loss_backward(gradient, x, classes, {}, reduction, no_class, count);
		const bool same = same_bits(sum, *likelihood(x, classes, mean)) && same_bits(count, number(static_cast<float>(rows))) &&
		                  same_bits(back, *derivative(0.7F, x, classes, mean));
		if (!same) {
			return false;
		}
	}
	return true;
}

// Whether our loops have libtorch's bits, where classes are some.
bool is_ours(const Tensor& x, const Tensor& classes) {
	constexpr int64_t few = 1 << 12;  // numbers
	if (x.dim() != 2 || x.numel() == 0 || x.numel() > few || !is_plain(x, x.sizes()) || classes.scalar_type() != at::kLong ||
	    !is_as_it_lies(classes) || classes.dim() != 1 || classes.size(0) != x.size(0) || !classes.is_contiguous()) {
		return false;
	}
	static Verdict verdict;
	return verdict.holds([] { return tried(1) && tried(33) && tried(few); });
}

}  // namespace

std::optional<std::pair<Tensor, Tensor>> nll_loss(const Tensor& x, const Tensor& classes, bool mean) {
	auto loss = is_ours(x, classes) ? likelihood(x, classes, mean) : std::nullopt;
	return loss ? std::optional(std::pair(*std::move(loss), number(static_cast<float>(x.size(0))))) : std::nullopt;
}

std::optional<Tensor> nll_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& classes, bool mean, const Tensor& count) {
	auto one = [](const Tensor& t) { return t.dim() == 0 && is_plain(t); };
	if (!one(gradient) || !one(count) || !is_ours(x, classes) || *count.const_data_ptr<float>() != static_cast<float>(x.size(0))) {
		return std::nullopt;
	}
	return derivative(*gradient.const_data_ptr<float>(), x, classes, mean);
}

}  // namespace tg::losses
