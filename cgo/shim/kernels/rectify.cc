// Products of matrices with ReLU behind them, or its derivative: zeros are written while the product is near.
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/library.h>

#include <optional>

#include "matrices.h"
#include "plain.h"
#include "weights.h"

namespace tg::matrices {
namespace {

using at::Tensor;

// max(start + a x b, 0), or, with by, a x b where that is positive and zero elsewhere.
Tensor rectified_product(const std::optional<Tensor>& start, const Tensor& a, const Tensor& b, const std::optional<Tensor>& by) {
	const bool ours = a.dim() == 2 && b.dim() == 2 && (!by || is_plain(*by, {a.size(0), b.size(1)}));
	const Ending ending{true, ours && by ? by->const_data_ptr<float>() : nullptr};
	if (auto c = ours ? product(start ? &*start : nullptr, a, b, ending) : std::nullopt) {
		return *std::move(c);
	}
	Tensor c = start ? at::cpu::addmm(*start, a, b) : at::cpu::mm(a, b);
	if (ours && rectify(ending, c)) {
		return c;
	}
	return by ? at::threshold_backward(c, *by, 0) : at::relu(c);
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("rectified_product(Tensor? start, Tensor a, Tensor b, Tensor? by) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("rectified_product", rectified_product); }

}  // namespace
}  // namespace tg::matrices
