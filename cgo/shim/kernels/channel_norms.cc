// Norms of images whose channels lie last, as our convolutions leave them, with an activation behind them.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
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

// What a norm is made of, and what it makes.
struct Norm {
	const convolution::Processor* processor = convolution::best_processor();
	Tensor rows, y;
	Images images{};

	Norm(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, std::string_view activation) {
		TORCH_CHECK_NOT_IMPLEMENTED(processor != nullptr, "this processor has no kernel for norms");
		TORCH_CHECK_VALUE(x.dim() > 1 && x.size(1) > 0 && is_plain(x), "expected rows or images of float32, got ", x.sizes(), " of ",
		                  x.scalar_type());
		rows = x.dim() == 2 ? x.contiguous() : rows_of(x), y = at::empty(rows.sizes(), x.options());
		images.x = rows.const_data_ptr<float>(), images.y = y.mutable_data_ptr<float>();
		images.channels = x.size(1), images.pixels = rows.numel() / images.channels;
		images.weight = of_channels("weight", weight, images.channels), images.bias = of_channels("bias", bias, images.channels);
		images.activation = static_cast<uint8_t>(convolution::activation_of(activation));
	}

	Tensor like(const Tensor& x) const { return x.dim() == 2 ? y : y.transpose(1, 2).unflatten(2, x.sizes().slice(2)); }
};

Tensor group_norm(const Tensor& x, int64_t count, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                  std::string_view activation) {
	Norm norm(x, weight, bias, activation);
	Images& g = norm.images;
	TORCH_CHECK_VALUE(count > 0 && g.channels % count == 0, count, " groups do not fit ", g.channels, " channels");
	g.groups = count, g.eps = eps, g.pixels = x.size(0) > 0 ? g.pixels / x.size(0) : 0;  // of each image
	at::parallel_for(0, x.size(0), 1, [&](int64_t first, int64_t last) {
		std::unique_ptr<double[]> room(new double[room_of(g)]);
		for (; first < last; first++) {
			norm.processor->group_norm(g, first, room.get());
		}
	});
	return norm.like(x);
}

// A batch norm in evaluation, whose mean and variance are part of the weight and the bias.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, std::string_view activation) {
	constexpr int64_t enough = 1 << 15;  // numbers for a thread
	const Norm norm(x, weight, bias, activation);
	const Images& g = norm.images;
	at::parallel_for(0, g.pixels, std::max<int64_t>(1, enough / g.channels),
	                 [&](int64_t first, int64_t last) { norm.processor->affine(g, first, last); });
	return norm.like(x);
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("group_norm(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps, str activation) -> Tensor");
	m.def("batch_norm(Tensor x, Tensor weight, Tensor bias, str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("group_norm", group_norm);
	m.impl("batch_norm", batch_norm);
}

}  // namespace
}  // namespace tg::groups
