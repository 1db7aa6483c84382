// Rotary embeddings, which place queries and keys by turning pairs of their numbers.
#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>

#include "plain.h"
#include "turned.h"
#include "weights.h"

namespace tg::rows {
namespace {

using at::Tensor;

// A tensor of x's sizes whose rows lie side by side, whatever steps its other dimensions have.
Tensor as_rows(const Tensor& t, const Tensor& x) {
	TORCH_CHECK_VALUE(is_plain(t) && t.dim() > 0 && t.size(-1) == x.size(-1) && at::is_expandable_to(t.sizes(), x.sizes()), "expected float32 for ",
	                  x.sizes(), ", got ", t.sizes(), " of ", t.scalar_type());
	return (t.stride(-1) == 1 ? t : t.contiguous()).expand(x.sizes());
}

Tensor rotary(const Tensor& x, const Tensor& cos, const Tensor& sin) {
	constexpr int64_t enough = 1 << 14;  // numbers for a thread
	const auto* processor = convolution::best_processor();
	TORCH_CHECK_NOT_IMPLEMENTED(processor != nullptr, "this processor has no kernel for rotary embeddings");
	TORCH_CHECK_VALUE(is_plain(x) && x.dim() > 0 && x.dim() <= Turned::kDims + 1 && x.size(-1) > 0 && x.size(-1) % 2 == 0,
	                  "expected rows of an even number of float32, in five dimensions at most, got ", x.sizes(), " of ", x.scalar_type());
	const Tensor from = as_rows(x, x), c = as_rows(cos, x), s = as_rows(sin, x);
	auto y = at::empty_like(from);
	if (y.stride(-1) != 1) {
		y = at::empty_like(from, at::MemoryFormat::Contiguous);
	}
	Turned t{from.const_data_ptr<float>(), c.const_data_ptr<float>(), s.const_data_ptr<float>(), y.mutable_data_ptr<float>(), x.size(-1)};
	const int64_t ones = Turned::kDims + 1 - x.dim();
	for (int64_t i = 0; i < Turned::kDims; i++) {
		const bool own = i >= ones;
		t.sizes[i] = own ? x.size(i - ones) : 1;
		t.x_steps[i] = own ? from.stride(i - ones) : 0, t.y_steps[i] = own ? y.stride(i - ones) : 0;
		t.cos_steps[i] = own ? c.stride(i - ones) : 0, t.sin_steps[i] = own ? s.stride(i - ones) : 0;
	}
	at::parallel_for(0, x.numel() / x.size(-1), std::max<int64_t>(1, enough / x.size(-1)),
	                 [&](int64_t first, int64_t last) { processor->rotary(t, first, last); });
	return y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("rotary(Tensor x, Tensor cos, Tensor sin) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("rotary", rotary); }

}  // namespace
}  // namespace tg::rows
