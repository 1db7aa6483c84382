#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "weights.h"

namespace tg::convolution {
namespace {

using at::Tensor;
constexpr int64_t numbers_of_a_thread = 1 << 17;

const Tensor& images(const Tensor& x) {
	TORCH_CHECK_VALUE(x.dim() == 4 && x.scalar_type() == at::kFloat, "expected float32 images, got ", x.sizes(), " of ", x.scalar_type());
	return x;
}

// The means of the channels of images, as images of one pixel.
Tensor means(const Tensor& x) {
	int64_t channels = images(x).size(1), pixels = x.size(2) * x.size(3);
	TORCH_CHECK_VALUE(channels > 0 && pixels > 0, "images of ", x.sizes(), " have no means");
	const auto& k = kernels_for(channels);
	auto from = x.contiguous(last_channels);
	auto to = at::empty({x.size(0), channels, 1, 1}, x.options(), last_channels);
	const float* image = from.const_data_ptr<float>();
	float* out = to.mutable_data_ptr<float>();
	int64_t some = std::max<int64_t>(1, numbers_of_a_thread / (channels * pixels));
	at::parallel_for(0, x.size(0), some, [&](int64_t first, int64_t last) {
		for (; first < last; first++) {
			k.means(image + first * channels * pixels, pixels, channels, out + first * channels);
		}
	});
	return to;
}

// scale_into multiplies the channels of images by a number each; to may be the images themselves.
void scale_into(const Tensor& x, const Tensor& by, const Tensor& to) {
	int64_t channels = images(x).size(1), pixels = x.size(2) * x.size(3);
	TORCH_CHECK_VALUE(images(by).size(0) == x.size(0) && by.size(1) == channels && by.size(2) == 1 && by.size(3) == 1,
	                  "expected a number for each channel of images of ", x.sizes(), ", got ", by.sizes());
	if (x.numel() == 0) {
		return;
	}
	const auto& k = kernels_for(channels);
	auto factors = by.contiguous();
	const float *image = x.const_data_ptr<float>(), *factor = factors.const_data_ptr<float>();
	float* out = to.mutable_data_ptr<float>();
	int64_t some = std::max<int64_t>(1, numbers_of_a_thread / channels);
	at::parallel_for(0, x.size(0) * pixels, some, [&](int64_t first, int64_t last) {
		while (first < last) {
			int64_t own = first / pixels, n = std::min(last, (own + 1) * pixels) - first;
			k.scale(image + first * channels, factor + own * channels, n, channels, out + first * channels);
			first += n;
		}
	});
}

Tensor scale(const Tensor& x, const Tensor& by) {
	auto to = at::empty(images(x).sizes(), x.options(), last_channels);
	scale_into(x.contiguous(last_channels), by, to);
	return to;
}

Tensor& scale_(Tensor& x, const Tensor& by) {
	TORCH_CHECK_VALUE(images(x).is_contiguous(last_channels), "expected images with their channels last, got strides ", x.strides());
	scale_into(x, by, x);
	return x;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("means(Tensor x) -> Tensor");
	m.def("scale(Tensor x, Tensor by) -> Tensor");
	m.def("scale_(Tensor(a!) x, Tensor by) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("means", means);
	m.impl("scale", scale);
	m.impl("scale_", scale_);
}

}  // namespace
}  // namespace tg::convolution
