// Convolutions of volumes, as convolutions of images: what a kernel sees of several slices are the channels of one.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

#include "checks.h"
#include "layers.h"
#include "padding.h"
#include "weights.h"

namespace tg::convolution {
namespace {

using at::Tensor;

constexpr auto last_of_volumes = at::MemoryFormat::ChannelsLast3d;

// Slices of volumes as images, which lie as they are.
Tensor slices(const Tensor& x) {
	return x.permute({0, 2, 1, 3, 4}).reshape({x.size(0) * x.size(2), x.size(1), x.size(3), x.size(4)});
}

// Stack is how slices come together.
struct Stack {
	Tensor x;  // with its channels last
	int64_t kernel, stride, padding, outputs;

	// Each slice is an image by itself.
	bool alone() const { return kernel == 1 && stride == 1 && padding == 0; }

	// The images that some outputs from one on see, counted through all volumes.
	Tensor images(int64_t first, int64_t count) const {
		if (alone()) {
			return slices(x).narrow(0, first, count);
		}
		const int64_t channels = x.size(1), pixels = x.size(3) * x.size(4), size = channels * static_cast<int64_t>(x.element_size());
		auto all = at::empty({count, kernel * channels, x.size(3), x.size(4)}, x.options(), last_channels);
		auto* to = static_cast<char*>(all.mutable_data_ptr());
		for (int64_t i = first; i < first + count; i++, to += pixels * kernel * size) {
			for (int64_t k = 0; k < kernel; k++) {
				put(i / outputs, i % outputs * stride + k - padding, pixels, size, to + k * size);
			}
		}
		return all;
	}

	// The pixels of a slice, or zeros where there is none, between those of others.
	void put(int64_t volume, int64_t slice, int64_t pixels, int64_t size, char* to) const {
		if (slice >= 0 && slice < x.size(2)) {
			const auto* from = static_cast<const char*>(x.const_data_ptr()) + (volume * x.size(2) + slice) * pixels * size;
			return copy_pixels(pixels, size, from, size, to, kernel * size);
		}
		for (int64_t i = 0; i < pixels; i++, to += kernel * size) {
			memset(to, 0, size);
		}
	}
};

Tensor volumes(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& sum, int64_t outputs,
               at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, bool by_winograd, std::string_view activation) {
	constexpr int64_t many = 1 << 24;  // numbers of images that are made at once
	TORCH_CHECK_VALUE(x.dim() == 5 && x.size(1) > 0 && x.size(3) > 0 && x.size(4) > 0, "expected volumes, got ", x.sizes());
	check_each("kernel", kernel, 3, 1), check_each("stride", stride, 3, 1), check_each("padding", padding, 3, 0);
	const Stack stack{x.contiguous(last_of_volumes), kernel[0], stride[0], padding[0], outputs_of(x.size(2), padding[0], kernel[0], stride[0])};
	TORCH_CHECK_VALUE(stack.outputs > 0, "volumes of ", x.sizes(), " are smaller than the kernel");
	std::optional<Tensor> added;
	if (sum) {
		TORCH_CHECK_VALUE(sum->dim() == 5 && sum->size(0) == x.size(0) && sum->size(2) == stack.outputs, "what is added does not fit ", x.sizes());
		added = slices(sum->contiguous(last_of_volumes));
	}
	const int64_t all = x.size(0) * stack.outputs, some = std::max<int64_t>(1, many / (kernel[0] * x.size(1) * x.size(3) * x.size(4)));
	Tensor y;
	for (int64_t first = 0; first < all || !y.defined(); first += some) {
		const int64_t count = std::min(some, all - first);
		auto images = stack.images(first, count);
		std::optional<Tensor> own;
		if (added) {
			own = added->narrow(0, first, count);
		}
		auto part = by_winograd ? winograd(images, weight, bias, own, padding.slice(1), activation)
		                        : direct(images, weight, bias, own, outputs, kernel.slice(1), stride.slice(1), padding.slice(1), 1, activation);
		if (!y.defined()) {
			y = count == all ? part : at::empty({all, part.size(1), part.size(2), part.size(3)}, part.options(), last_channels);
		}
		if (count < all) {
			y.narrow(0, first, count).copy_(part);
		}
	}
	return y.reshape({x.size(0), stack.outputs, y.size(1), y.size(2), y.size(3)}).permute({0, 2, 1, 3, 4});
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("volumes(Tensor x, Tensor weight, Tensor? bias, Tensor? sum, int outputs, int[] kernel, int[] stride, int[] padding, bool winograd, "
	      "str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("volumes", volumes); }

}  // namespace
}  // namespace tg::convolution
