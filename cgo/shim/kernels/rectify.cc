// Products of matrices with ReLU behind them, or its derivative: zeros are written while the product is near.
#include <ATen/Parallel.h>
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
	constexpr int64_t enough = 1 << 15;  // numbers for a thread
	Tensor c = start ? matrices::addmm(*start, a, b, 1, 1) : matrices::mm(a, b);
	const auto* k = convolution::best_processor();
	if (k == nullptr || !is_plain(c, c.sizes()) || (by && !is_plain(*by, c.sizes()))) {
		return by ? at::threshold_backward(c, *by, 0) : at::relu(c);
	}
	auto* to = c.mutable_data_ptr<float>();
	const auto* limits = by ? by->const_data_ptr<float>() : nullptr;
	at::parallel_for(0, c.numel(), enough, [&](int64_t first, int64_t last) {
		k->rectify(limits ? limits + first : nullptr, last - first, to + first);
	});
	return c;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("rectified_product(Tensor? start, Tensor a, Tensor b, Tensor? by) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("rectified_product", rectified_product); }

}  // namespace
}  // namespace tg::matrices
