#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "branch.h"
#include "weights.h"

namespace tg::residual {
namespace {

using at::Tensor;

constexpr int64_t numbers_of_a_thread = 1 << 15;

// Two tensors, and what the layer norm of their sum multiplies by and adds, or an error.
const convolution::Kernels& checked(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias) {
	auto dtype = weight.scalar_type();
	const auto* kernels = convolution::any_kernels(dtype);
	TORCH_CHECK_NOT_IMPLEMENTED(kernels != nullptr, "this processor has no kernel for ", dtype);
	auto known = [&](const Tensor& t) {
		return (t.scalar_type() == dtype || t.scalar_type() == at::kFloat) && t.layout() == at::kStrided && !t.is_neg();
	};
	TORCH_CHECK_VALUE(x.dim() > 0 && x.sizes() == y.sizes() && known(x) && known(y), "expected two tensors of the same sizes, of ", dtype,
	                  " or float32, got ", x.sizes(), " of ", x.scalar_type(), " and ", y.sizes(), " of ", y.scalar_type());
	const int64_t columns = x.size(-1);
	auto of_columns = [&](const Tensor& t) { return t.scalar_type() == dtype && t.dim() == 1 && t.size(0) == columns; };
	TORCH_CHECK_VALUE(columns > 0 && columns % kColumns == 0 && of_columns(weight) && of_columns(bias), "expected a multiple of ", kColumns,
	                  " columns, with a weight and a bias for each, got ", x.sizes(), ", ", weight.sizes(), " and ", bias.sizes());
	return *kernels;
}

// The layer norm of x + y over the last dimension in the dtype of the weight. The sum is written to memory of float32, which may be x's.
Tensor joined(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias, double eps, float* sum) {
	const auto& kernels = checked(x, y, weight, bias);
	auto b = y.contiguous(), w = weight.contiguous(), c = bias.contiguous();
	auto to = at::empty(x.sizes(), x.options().dtype(weight.scalar_type()));
	Branch branch{x.const_data_ptr(), b.const_data_ptr(), x.scalar_type() == at::kFloat, b.scalar_type() == at::kFloat, w.const_data_ptr(),
	              c.const_data_ptr(), sum, to.mutable_data_ptr(), x.size(-1), static_cast<float>(eps)};
	at::parallel_for(0, x.numel() / branch.columns, std::max<int64_t>(1, numbers_of_a_thread / branch.columns),
	                 [&](int64_t first, int64_t last) { kernels.add_norm(branch, first, last); });
	return to;
}

// The sum, too: that of many branches keeps in float32 what bfloat16 would round off after each.
std::tuple<Tensor, Tensor> add_norm(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias, double eps) {
	auto sum = at::empty(x.sizes(), x.options().dtype(at::kFloat));
	auto normed = joined(x.contiguous(), y, weight, bias, eps, sum.mutable_data_ptr<float>());
	return {sum, normed};
}

// The sum is written to x, which is of float32.
std::tuple<Tensor, Tensor> add_norm_(Tensor x, const Tensor& y, const Tensor& weight, const Tensor& bias, double eps) {
	TORCH_CHECK_VALUE(x.scalar_type() == at::kFloat && x.is_contiguous(), "expected numbers of float32 that lie side by side, got ", x.scalar_type(),
	                  " with strides ", x.strides());
	auto normed = joined(x, y, weight, bias, eps, x.mutable_data_ptr<float>());
	return {x, normed};
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("add_norm(Tensor x, Tensor y, Tensor weight, Tensor bias, float eps) -> (Tensor sum, Tensor normed)");
	m.def("add_norm_(Tensor(a!) x, Tensor y, Tensor weight, Tensor bias, float eps) -> (Tensor(a!) sum, Tensor normed)");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("add_norm", add_norm);
	m.impl("add_norm_", add_norm_);
}

}  // namespace
}  // namespace tg::residual
