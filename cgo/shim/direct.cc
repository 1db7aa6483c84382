#include "direct.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "kernels/losses.h"

namespace tg {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using torch::jit::Stack;

// Dense memory of the processor's, which nothing but autograd and counts of changes is to hear of.
bool plain(const c10::IValue& v) {
	constexpr DispatchKeySet keys{DispatchKey::CPU, DispatchKey::ADInplaceOrView, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU};
	return v.isTensor() && v.toTensor().defined() && v.toTensor().key_set() == keys;
}

// Looks at a tensor's memory in another way. Changes are counted with the tensor's.
void look(Stack& stack, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
	const Tensor& x = stack[0].toTensor();
	auto view = c10::make_intrusive<at::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(x.storage()), x.key_set(), x.dtype());
	view->set_sizes_and_strides(sizes, strides, offset);
	view->set_version_counter(x.unsafeGetTensorImpl()->version_counter());
	stack.clear();
	stack.emplace_back(Tensor(std::move(view)));
}

bool transposed(Stack& stack, int64_t i, int64_t k) {
	const Tensor& x = stack[0].toTensor();
	const int64_t dims = x.dim();
	i += i < 0 ? dims : 0, k += k < 0 ? dims : 0;
	if (i < 0 || i >= dims || k < 0 || k >= dims) {
		return false;
	}
	c10::SmallVector<int64_t, 5> sizes(x.sizes()), strides(x.strides());
	std::swap(sizes[i], sizes[k]);
	std::swap(strides[i], strides[k]);
	look(stack, sizes, strides, x.storage_offset());
	return true;
}

bool t(Stack& stack) { return plain(stack[0]) && stack[0].toTensor().dim() == 2 && transposed(stack, 0, 1); }

bool transpose(Stack& stack) { return plain(stack[0]) && transposed(stack, stack[1].toInt(), stack[2].toInt()); }

// as_strided of what lies within the memory.
bool as_strided(Stack& stack) {
	if (!plain(stack[0]) || !stack[1].isIntList() || !stack[2].isIntList() || !(stack[3].isInt() || stack[3].isNone())) {
		return false;
	}
	const Tensor& x = stack[0].toTensor();
	const auto sizes = stack[1].toIntVector(), strides = stack[2].toIntVector();
	const int64_t offset = stack[3].isNone() ? x.storage_offset() : stack[3].toInt();
	const auto room = static_cast<int64_t>(x.storage().nbytes() / x.itemsize());
	bool fits = offset >= 0 && offset < room && sizes.size() == strides.size();
	for (int64_t i = 0, last = offset; fits && i < static_cast<int64_t>(sizes.size()); i++) {
		int64_t far = 0;
		fits = sizes[i] > 0 && strides[i] >= 0 && !__builtin_mul_overflow(sizes[i] - 1, strides[i], &far) && far < room - last;
		last += far;
	}
	if (fits) {
		look(stack, sizes, strides, offset);
	}
	return fits;
}

// Few numbers of float32 that lie side by side.
bool has_few(const c10::IValue& v) {
	constexpr int64_t few = 64;
	return plain(v) && v.toTensor().scalar_type() == at::kFloat && v.toTensor().is_contiguous() && v.toTensor().numel() <= few;
}

// One, as the gradient of a loss is.
bool ones_like(Stack& stack) {
	const bool alike = std::all_of(stack.begin() + 1, stack.end() - 1, [](const c10::IValue& v) { return v.isNone(); });
	if (!alike || !has_few(stack[0]) || stack[0].toTensor().dim() != 0) {
		return false;
	}
	Tensor one = at::detail::empty_cpu({}, at::kFloat);
	*one.mutable_data_ptr<float>() = 1;
	stack.clear();
	stack.emplace_back(std::move(one));
	return true;
}

// x += n for few numbers, as the counts of an optimizer's steps are.
bool add_number(Stack& stack) {
	const bool one = stack[2].isInt() && stack[2].toInt() == 1, is_number = stack[1].isInt() || stack[1].isDouble();
	if (!one || !is_number || !has_few(stack[0])) {
		return false;
	}
	const Tensor& x = stack[0].toTensor();
	const auto n = static_cast<float>(stack[1].isInt() ? static_cast<double>(stack[1].toInt()) : stack[1].toDouble());
	auto* to = x.mutable_data_ptr<float>();
	for (int64_t i = 0; i < x.numel(); i++) {
		to[i] += n;
	}
	x.unsafeGetTensorImpl()->bump_version();
	stack.resize(1);
	return true;
}

// Losses of classes without weights, of which none is left out: their mean, or their sum.
bool is_loss(const Stack& stack, size_t first) {
	const auto &weight = stack[first + 2], &reduction = stack[first + 3], &without = stack[first + 4];
	return plain(stack[first]) && plain(stack[first + 1]) && weight.isNone() && reduction.isInt() && reduction.toInt() != at::Reduction::None &&
	       without.isInt() && without.toInt() < 0;
}

bool nll_loss(Stack& stack) {
	if (!is_loss(stack, 0)) {
		return false;
	}
	auto loss = losses::nll_loss(stack[0].toTensor(), stack[1].toTensor(), stack[3].toInt() == at::Reduction::Mean);
	if (loss) {
		stack = {std::move(loss->first), std::move(loss->second)};
	}
	return loss.has_value();
}

bool nll_loss_backward(Stack& stack) {
	if (!plain(stack[0]) || !is_loss(stack, 1) || !plain(stack[6])) {
		return false;
	}
	auto gradient = losses::nll_loss_backward(stack[0].toTensor(), stack[1].toTensor(), stack[2].toTensor(),
	                                          stack[4].toInt() == at::Reduction::Mean, stack[6].toTensor());
	if (gradient) {
		stack = {std::move(*gradient)};
	}
	return gradient.has_value();
}

}  // namespace

Direct find_direct(const c10::FunctionSchema& schema) {
	static const std::unordered_map<std::string_view, Direct> all{{"aten::add_.Scalar", add_number},
	                                                              {"aten::as_strided.", as_strided},
	                                                              {"aten::nll_loss_backward.", nll_loss_backward},
	                                                              {"aten::nll_loss_forward.", nll_loss},
	                                                              {"aten::ones_like.", ones_like},
	                                                              {"aten::t.", t},
	                                                              {"aten::transpose.int", transpose}};
	const auto found = all.find(schema.name() + "." + schema.overload_name());
	return found == all.end() ? nullptr : found->second;
}

bool goes_direct() {
	const auto modes = c10::impl::tls_local_dispatch_key_set();
	return (modes.included_ ^ c10::default_included_set).empty() && !at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION) &&
	       !at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
}

}  // namespace tg
