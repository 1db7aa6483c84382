#include <ATen/Parallel.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sub.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <vector>

#include "plain.h"
#include "weights.h"

namespace tg::elementwise {
namespace {

using at::Tensor;
constexpr int64_t numbers_of_a_thread = 1 << 16;

// The steps of a chain, [operator, value, value, slot] each: they come from files, too.
const Step* checked(at::IntArrayRef steps, int64_t inputs, int64_t numbers) {
	TORCH_CHECK_VALUE(!steps.empty() && steps.size() % 4 == 0, "expected four integers for each step, got ", steps.size(), " in all");
	TORCH_CHECK_VALUE(inputs > 0 && numbers <= kSlots, "expected an input and at most ", kSlots, " numbers, got ", inputs, " and ", numbers);
	auto* list = reinterpret_cast<const Step*>(steps.data());
	uint64_t made = (uint64_t{1} << numbers) - 1;  // the slots that have something in them
	auto known = [&](int64_t v) { return v >= 0 && v < inputs + kSlots && (v < inputs || made >> (v - inputs) & 1); };
	for (const auto* s = list; s < list + steps.size() / 4; s++) {
		TORCH_CHECK_VALUE(s->op >= 0 && s->op < kOps && known(s->a) && known(s->b) && s->to >= numbers && s->to < kSlots, "step ", s - list,
		                  " is not known, or of values that are not: ", s->op, ", ", s->a, ", ", s->b, ", ", s->to);
		made |= uint64_t{1} << s->to;
	}
	return list;
}

Tensor by_libtorch(int64_t op, const Tensor& a, const Tensor& b) {
	switch (op) {
	case kAdd:
		return at::add(a, b);
	case kSub:
		return at::sub(a, b);
	case kMul:
		return at::mul(a, b);
	case kDiv:
		return at::div(a, b);
	case kNeg:
		return at::neg(a);
	case kAbs:
		return at::abs(a);
	default:
		return at::relu(a);
	}
}

// The steps one after the other, for tensors of any kind.
Tensor one_by_one(at::TensorList inputs, at::ArrayRef<double> numbers, const Step* steps, int64_t length) {
	std::array<Tensor, kSlots> slots;
	for (size_t i = 0; i < numbers.size(); i++) {
		slots[i] = at::scalar_tensor(numbers[i], at::kDouble);
		slots[i].unsafeGetTensorImpl()->set_wrapped_number(true);
	}
	auto count = static_cast<int64_t>(inputs.size());
	auto value = [&](int64_t v) { return v < count ? inputs[v] : slots[v - count]; };
	for (int64_t i = 0; i < length; i++) {
		slots[steps[i].to] = by_libtorch(steps[i].op, value(steps[i].a), value(steps[i].b));
	}
	return slots[steps[length - 1].to];
}

// Whether libtorch gives what it makes of tensors that lie alike their strides, or those of its formats: a dimension of one number may have
// any, and so has others then.
bool lies_plainly(const Tensor& t) {
	if (t.is_contiguous() || t.is_contiguous(at::MemoryFormat::ChannelsLast)) {
		return true;
	}
	const auto sizes = t.sizes();
	return t.is_non_overlapping_and_dense() && std::find(sizes.begin(), sizes.end(), 1) == sizes.end();
}

Tensor made_like(const Tensor& t) {
	for (auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
		if (t.is_contiguous(format)) {
			return at::empty(t.sizes(), t.options(), format);
		}
	}
	return at::empty_strided(t.sizes(), t.strides(), t.options());
}

// The first tensor that is no single number, if all others are such or lie in memory as it does, without gaps.
const Tensor* alike(at::TensorList inputs) {
	const Tensor* first = &inputs[0];
	for (const auto& t : inputs) {
		if (first->dim() == 0) {
			first = &t;
		}
		if (!is_plain(t) || (t.dim() > 0 && (t.sizes() != first->sizes() || t.strides() != first->strides()))) {
			return nullptr;
		}
	}
	return lies_plainly(*first) ? first : nullptr;
}

Tensor together(const convolution::Processor& k, at::TensorList inputs, at::ArrayRef<double> numbers, const Step* steps, int64_t length,
                const Tensor& like) {
	auto y = made_like(like);
	std::vector<const float*> from;
	std::vector<int64_t> advance;
	std::vector<std::array<float, kBlock>> equal;
	equal.reserve(inputs.size());
	for (const auto& t : inputs) {
		from.push_back(t.const_data_ptr<float>());
		advance.push_back(t.dim() == like.dim() ? 1 : 0);
		if (advance.back() == 0) {
			equal.emplace_back().fill(*from.back());
			from.back() = equal.back().data();
		}
	}
	Chain c{from.data(), advance.data(), static_cast<int64_t>(inputs.size()), steps, length, y.mutable_data_ptr<float>()};
	at::parallel_for(0, y.numel(), numbers_of_a_thread, [&](int64_t first, int64_t last) {
		alignas(64) float room[kSlots * kBlock];
		for (size_t i = 0; i < numbers.size(); i++) {
			std::fill_n(room + i * kBlock, std::min(last - first, kBlock), static_cast<float>(numbers[i]));
		}
		k.elementwise(c, first, last, room);
	});
	return y;
}

Tensor elementwise(at::TensorList inputs, at::ArrayRef<double> numbers, at::IntArrayRef steps) {
	const Step* list = checked(steps, static_cast<int64_t>(inputs.size()), static_cast<int64_t>(numbers.size()));
	auto length = static_cast<int64_t>(steps.size() / 4);
	const auto* k = convolution::best_processor();
	const Tensor* like = k ? alike(inputs) : nullptr;
	return like ? together(*k, inputs, numbers, list, length, *like) : one_by_one(inputs, numbers, list, length);
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("elementwise(Tensor[] inputs, float[] numbers, int[] steps) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CompositeExplicitAutograd, m) { m.impl("elementwise", elementwise); }

}  // namespace
}  // namespace tg::elementwise
