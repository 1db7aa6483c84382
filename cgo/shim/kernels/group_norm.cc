// Group norms of images whose channels lie last, as our convolutions leave them, with an activation behind them.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <memory>
#include <string_view>

#include "checks.h"
#include "groups.h"
#include "padding.h"
#include "plain.h"
#include "weights.h"

namespace tg::groups {
namespace {

using at::Tensor;

// Images, signals or volumes as [images, pixels, channels].
Tensor rows_of(const Tensor& x) { return convolution::padded(x.flatten(2).unsqueeze(2), 0, 0).squeeze(2).transpose(1, 2); }

const float* of_channels(const char* what, const std::optional<Tensor>& numbers, int64_t channels) {
	if (!numbers) {
		return nullptr;
	}
	TORCH_CHECK_VALUE(is_plain(*numbers, {channels}), "the ", what, " does not fit ", channels, " channels: ", numbers->sizes(), " of ",
	                  numbers->scalar_type());
	return numbers->const_data_ptr<float>();
}

Tensor group_norm(const Tensor& x, int64_t count, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                  std::string_view activation) {
	const auto* processor = convolution::best_processor();
	TORCH_CHECK_NOT_IMPLEMENTED(processor != nullptr, "this processor has no kernel for group norms");
	TORCH_CHECK_VALUE(x.dim() > 2 && x.size(1) > 0 && is_plain(x), "expected images of float32, got ", x.sizes(), " of ", x.scalar_type());
	const int64_t channels = x.size(1);
	TORCH_CHECK_VALUE(count > 0 && channels % count == 0, count, " groups do not fit ", channels, " channels");
	auto rows = rows_of(x);
	auto y = at::empty(rows.sizes(), rows.options());
	const Images g{rows.const_data_ptr<float>(), y.mutable_data_ptr<float>(), rows.size(1), channels, count,
	               of_channels("weight", weight, channels), of_channels("bias", bias, channels), eps,
	               static_cast<uint8_t>(convolution::activation_of(activation))};
	at::parallel_for(0, x.size(0), 1, [&](int64_t first, int64_t last) {
		std::unique_ptr<double[]> room(new double[room_of(g)]);
		for (; first < last; first++) {
			processor->group_norm(g, first, room.get());
		}
	});
	return y.transpose(1, 2).unflatten(2, x.sizes().slice(2));
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("group_norm(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps, str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("group_norm", group_norm); }

}  // namespace
}  // namespace tg::groups
