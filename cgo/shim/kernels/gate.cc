#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "call.h"

namespace tg::convolution {
namespace {

using at::Tensor;
constexpr int64_t numbers_of_a_thread = 1 << 17;

// The means of the channels of images, as images of one pixel, or as a row for each image.
Tensor means(const Tensor& x, bool keep) {
	int64_t channels = images(x).size(1), pixels = x.size(2) * x.size(3);
	TORCH_CHECK_VALUE(channels > 0 && pixels > 0, "images of ", x.sizes(), " have no means");
	const auto& k = kernels_for(x.scalar_type(), channels);
	auto from = x.contiguous(last_channels);
	auto to = room_for_means(x, keep, x.scalar_type());
	const auto* image = static_cast<const char*>(from.const_data_ptr());
	auto* out = static_cast<char*>(to.mutable_data_ptr());
	auto pixel = channels * static_cast<int64_t>(x.element_size());  // in bytes
	int64_t some = std::max<int64_t>(1, numbers_of_a_thread / (channels * pixels));
	at::parallel_for(0, x.size(0), some, [&](int64_t first, int64_t last) {
		for (; first < last; first++) {
			k.means(image + first * pixels * pixel, pixels, channels, out + first * pixel);
		}
	});
	return to;
}

// scale_into multiplies the channels of images by a number each; to may be the images themselves.
void scale_into(const Tensor& x, const Tensor& by, const Tensor& to) {
	int64_t channels = images(x).size(1), pixels = x.size(2) * x.size(3);
	TORCH_CHECK_VALUE(images(by).scalar_type() == x.scalar_type() && by.size(0) == x.size(0) && by.size(1) == channels && by.size(2) == 1 && by.size(3) == 1,
	                  "expected a number for each channel of images of ", x.sizes(), ", got ", by.sizes(), " of ", by.scalar_type());
	if (x.numel() == 0) {
		return;
	}
	const auto& k = kernels_for(x.scalar_type(), channels);
	auto factors = by.contiguous();
	const auto *image = static_cast<const char*>(x.const_data_ptr()), *factor = static_cast<const char*>(factors.const_data_ptr());
	auto* out = static_cast<char*>(to.mutable_data_ptr());
	auto pixel = channels * static_cast<int64_t>(x.element_size());  // in bytes
	int64_t some = std::max<int64_t>(1, numbers_of_a_thread / channels);
	at::parallel_for(0, x.size(0) * pixels, some, [&](int64_t first, int64_t last) {
		while (first < last) {
			int64_t own = first / pixels, n = std::min(last, (own + 1) * pixels) - first;
			k.scale(image + first * pixel, factor + own * pixel, n, channels, out + first * pixel);
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
	m.def("means(Tensor x, bool keep=True) -> Tensor");
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
