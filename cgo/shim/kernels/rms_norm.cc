// Norms by the root mean square, in one pass over each row.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "plain.h"
#include "weights.h"

namespace tg::rows {
namespace {

using at::Tensor;

Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& weight, double eps) {
	constexpr int64_t enough = 1 << 14;  // numbers for a thread
	const auto* processor = convolution::best_processor();
	TORCH_CHECK_NOT_IMPLEMENTED(processor != nullptr, "this processor has no kernel for norms");
	TORCH_CHECK_VALUE(x.dim() > 0 && x.size(-1) > 0 && is_plain(x), "expected rows of float32, got ", x.sizes(), " of ", x.scalar_type());
	const int64_t columns = x.size(-1);
	TORCH_CHECK_VALUE(!weight || is_plain(*weight, {columns}), "the weight does not fit rows of ", columns);
	const auto from = x.contiguous();
	auto y = at::empty(x.sizes(), x.options());
	const auto* w = weight ? weight->const_data_ptr<float>() : nullptr;
	at::parallel_for(0, x.numel() / columns, std::max<int64_t>(1, enough / columns), [&](int64_t first, int64_t last) {
		processor->rms_norm(from.const_data_ptr<float>(), w, columns, static_cast<float>(eps), first, last, y.mutable_data_ptr<float>());
	});
	return y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("rms_norm(Tensor x, Tensor? weight, float eps) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("rms_norm", rms_norm); }

}  // namespace
}  // namespace tg::rows
