#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "call.h"
#include "uint8.h"

namespace tg::uint8 {
namespace {

using at::Tensor;
using convolution::last_channels;
constexpr int64_t numbers_of_a_thread = 1 << 17;

const Tensor& images(const Tensor& x) {
	TORCH_CHECK_VALUE(x.dim() == 4 && x.scalar_type() == at::kByte && x.size(1) * x.size(2) * x.size(3) > 0,
	                  "expected uint8 images, got ", x.sizes(), " of ", x.scalar_type());
	return x;
}

constexpr int64_t few = 4;

// interleave lays out the pixels of an image of few channels, whose planes lie one behind the other, with its channels last.
void interleave(const Kernels& k, const float* planes, int64_t channels, int64_t pixels, float by, int32_t zero, uint8_t* to) {
	constexpr int64_t some = 1 << 10;
	uint8_t own[few][some] = {};
	for (int64_t first = 0; first < pixels; first += some, to += some * channels) {
		int64_t n = std::min(some, pixels - first);
		for (int64_t c = 0; c < channels; c++) {
			k.quantize(planes + c * pixels + first, n, by, zero, own[c]);
		}
		int64_t i = 0;
		for (; i + few < n; i++) {
			uint32_t pixel = own[0][i] | own[1][i] << 8 | own[2][i] << 16 | static_cast<uint32_t>(own[3][i]) << 24;
			memcpy(to + i * channels, &pixel, sizeof pixel);  // the next pixel overwrites what is too much
		}
		for (; i < n; i++) {
			for (int64_t c = 0; c < channels; c++) {
				to[i * channels + c] = own[c][i];
			}
		}
	}
}

// Numbers in eight bits, images with their channels last.
Tensor quantize(const Tensor& x, double scale, int64_t zero) {
	TORCH_CHECK_VALUE(x.scalar_type() == at::kFloat && scale > 0, "expected numbers of float32 and a scale, got ", x.scalar_type(),
	                  " and ", scale);
	const auto& k = kernels();
	auto by = static_cast<float>(1 / scale);
	auto own = static_cast<int32_t>(zero);
	auto format = x.dim() == 4 ? last_channels : at::MemoryFormat::Contiguous;
	auto to = at::empty(x.sizes(), x.options().dtype(at::kByte), format);
	uint8_t* out = to.mutable_data_ptr<uint8_t>();
	if (x.dim() == 4 && x.size(1) <= few && x.is_contiguous() && x.numel() > 0) {
		int64_t pixels = x.size(2) * x.size(3), size = x.size(1) * pixels;
		const float* images = x.const_data_ptr<float>();
		at::parallel_for(0, x.size(0), std::max<int64_t>(1, numbers_of_a_thread / size), [&](int64_t first, int64_t last) {
			for (; first < last; first++) {
				interleave(k, images + first * size, x.size(1), pixels, by, own, out + first * size);
			}
		});
		return to;
	}
	auto from = x.contiguous(format);
	const float* numbers = from.const_data_ptr<float>();
	at::parallel_for(0, x.numel(), numbers_of_a_thread,
	                 [&](int64_t first, int64_t last) { k.quantize(numbers + first, last - first, by, own, out + first); });
	return to;
}

// The means of the channels of images, in float32.
Tensor means(const Tensor& x, double scale, int64_t zero, bool keep) {
	int64_t channels = images(x).size(1), pixels = x.size(2) * x.size(3);
	const auto& k = kernels();
	auto from = x.contiguous(last_channels);
	auto to = convolution::room_for_means(x, keep, at::kFloat);
	const uint8_t* image = from.const_data_ptr<uint8_t>();
	float* out = to.mutable_data_ptr<float>();
	int64_t some = std::max<int64_t>(1, numbers_of_a_thread / (channels * pixels));
	at::parallel_for(0, x.size(0), some, [&](int64_t first, int64_t last) {
		std::vector<int32_t> sums(channels);
		for (int64_t i = first; i < last; i++) {
			k.sums(image + i * channels * pixels, pixels, channels, sums.data());
			for (int64_t c = 0; c < channels; c++) {
				double mean = static_cast<double>(sums[c]) / static_cast<double>(pixels);
				out[i * channels + c] = static_cast<float>(scale * (mean - static_cast<double>(zero)));
			}
		}
	});
	return to;
}

// The channels of images times a number each.
Tensor scale(const Tensor& x, double x_scale, int64_t x_zero, const Tensor& by, double y_scale, int64_t y_zero) {
	int64_t channels = images(x).size(1), pixels = x.size(2) * x.size(3);
	TORCH_CHECK_VALUE(by.dim() == 4 && by.scalar_type() == at::kFloat && by.size(0) == x.size(0) && by.size(1) == channels &&
	                      by.size(2) == 1 && by.size(3) == 1,
	                  "expected a number for each channel of images of ", x.sizes(), ", got ", by.sizes(), " of ", by.scalar_type());
	const auto& k = kernels();
	auto from = x.contiguous(last_channels);
	auto to = at::empty(x.sizes(), x.options(), last_channels);
	auto factors = by.mul(x_scale / y_scale).contiguous();
	const uint8_t* image = from.const_data_ptr<uint8_t>();
	const float* factor = factors.const_data_ptr<float>();
	uint8_t* out = to.mutable_data_ptr<uint8_t>();
	int64_t some = std::max<int64_t>(1, numbers_of_a_thread / channels);
	at::parallel_for(0, x.size(0) * pixels, some, [&](int64_t first, int64_t last) {
		while (first < last) {
			int64_t own = first / pixels, n = std::min(last, (own + 1) * pixels) - first;
			k.scale(image + first * channels, static_cast<float>(x_zero), factor + own * channels, n, channels,
			        static_cast<float>(y_zero), out + first * channels);
			first += n;
		}
	});
	return to;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("quantize_uint8(Tensor x, float scale, int zero) -> Tensor");
	m.def("means_uint8(Tensor x, float scale, int zero, bool keep=True) -> Tensor");
	m.def("scale_uint8(Tensor x, float x_scale, int x_zero, Tensor by, float y_scale, int y_zero) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("quantize_uint8", quantize);
	m.impl("means_uint8", means);
	m.impl("scale_uint8", scale);
}

}  // namespace
}  // namespace tg::uint8
