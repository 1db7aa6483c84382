// Linear layers that keep their weights in bfloat16, or in whole numbers of eight bits with a scale for each output, and compute in float32.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "call.h"
#include "layers.h"
#include "plain.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// The outputs of each panel, of some rows.
void narrow_rows(const Task& t, const Tensor& weight, const float* scale) {
	const auto& k = processor_of(weight.size(3));
	const bool whole = weight.scalar_type() == at::kChar;
	const Panels panels{weight.size(0)};
	in_pieces(t.images, panels.count(), weight.numel(), [&](int64_t panel, int64_t first, int64_t last) {
		Tensor room;
		if (last - first > kFewRows) {
			room = at::empty({panels.size(panel) * weight.size(3) * t.channels}, at::kFloat);
		}
		auto* own = room.defined() ? room.mutable_data_ptr<float>() : nullptr;
		k.narrow[whole][panels.size(panel) - 1](t, scale, panels.first(panel), first, last, own);
	});
}

// Weights are those of direct_weight in another dtype; scale is there for whole numbers.
Tensor linear_narrow(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& scale, const std::optional<Tensor>& bias,
                     int64_t outputs, std::string_view activation) {
	TORCH_CHECK_VALUE(x.dim() > 0 && x.size(-1) > 0 && is_plain(x), "expected rows of float32, got ", x.sizes(), " of ", x.scalar_type());
	const bool narrow = weight.scalar_type() == at::kBFloat16 || weight.scalar_type() == at::kChar;
	TORCH_CHECK_VALUE(narrow && weight.dim() == 4 && weight.is_contiguous() && weight.size(1) == 1 && weight.size(2) == x.size(-1) &&
	                      weight.numel() > 0 && outputs > (weight.size(0) - 1) * weight.size(3) && outputs <= weight.size(0) * weight.size(3),
	                  "weights of ", weight.sizes(), " and ", weight.scalar_type(), " are not those for rows of ", x.size(-1), " and ", outputs,
	                  " outputs");
	TORCH_CHECK_VALUE(scale.has_value() == (weight.scalar_type() == at::kChar), "whole numbers have scales, and no others");
	TORCH_CHECK_VALUE(!scale || is_plain(*scale, {outputs}), "the scales do not fit ", outputs, " outputs");
	TORCH_CHECK_VALUE(!bias || is_plain(*bias, {outputs}), "the bias does not fit ", outputs, " outputs");
	auto sizes = x.sizes().vec();
	sizes.back() = outputs;
	const auto from = x.contiguous();
	auto y = at::empty(sizes, x.options());
	Task t{};
	t.x = from.const_data_ptr(), t.weight = weight.const_data_ptr(), t.y = y.mutable_data_ptr();
	t.bias = bias ? bias->const_data_ptr<float>() : nullptr;
	t.images = x.numel() / x.size(-1), t.channels = x.size(-1), t.outputs = outputs, t.activation = activation_of(activation);
	if (t.images > 0) {
		narrow_rows(t, weight, scale ? scale->const_data_ptr<float>() : nullptr);
	}
	return y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("linear_narrow(Tensor x, Tensor weight, Tensor? scale, Tensor? bias, int outputs, str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("linear_narrow", linear_narrow); }

}  // namespace
}  // namespace tg::convolution
