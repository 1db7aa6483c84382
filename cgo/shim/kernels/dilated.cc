// Convolutions whose kernel sees pixels that lie apart: pixels so far apart are images of their own, which Winograd's forms are for.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "checks.h"
#include "layers.h"
#include "padding.h"
#include "weights.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// Images, and those that are made of their pixels a distance apart: distance x distance of each, with zeros behind where it does not divide
// the sides. The channels of both lie last.
struct Parts {
	int64_t images, distance, height, width;

	int64_t count() const { return images * distance * distance; }

	// How many of the pixels of a side, from one on, are in a part.
	int64_t pixels(int64_t side, int64_t first) const { return (std::max<int64_t>(0, side - first) + distance - 1) / distance; }

	// Calls copy for each row of the parts, with a row of so many pixels and where it begins in the images.
	template <class Copy>
	void rows(const Tensor& parts, Copy copy) const {
		const int64_t all = distance * distance, line = parts.size(3), lines = parts.size(2);
		at::parallel_for(0, count(), 1, [&](int64_t first, int64_t last) {
			for (int64_t part = first; part < last; part++) {
				const int64_t down = part % all / distance, right = part % distance, begin = part / all * height;
				for (int64_t row = 0; row < pixels(height, down); row++) {
					copy(pixels(width, right), (begin + down + row * distance) * width + right, (part * lines + row) * line);
				}
			}
		});
	}

	Tensor apart(const Tensor& x) const {
		auto parts = at::empty({count(), x.size(1), pixels(height, 0), pixels(width, 0)}, x.options(), last_channels);
		if (height % distance + width % distance > 0) {
			parts.zero_();
		}
		const int64_t size = x.size(1) * static_cast<int64_t>(x.element_size());
		const auto* from = static_cast<const char*>(x.const_data_ptr());
		auto* to = static_cast<char*>(parts.mutable_data_ptr());
		rows(parts, [&](int64_t n, int64_t at, int64_t row) { copy_pixels(n, size, from + at * size, distance * size, to + row * size, size); });
		return parts;
	}

	Tensor together(const Tensor& parts) const {
		auto y = at::empty({images, parts.size(1), height, width}, parts.options(), last_channels);
		const int64_t size = y.size(1) * static_cast<int64_t>(y.element_size());
		const auto* from = static_cast<const char*>(parts.const_data_ptr());
		auto* to = static_cast<char*>(y.mutable_data_ptr());
		rows(parts, [&](int64_t n, int64_t at, int64_t row) { copy_pixels(n, size, from + row * size, size, to + at * size, distance * size); });
		return y;
	}
};

Tensor dilated(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& sum,
               at::IntArrayRef padding, int64_t dilation, std::string_view activation) {
	constexpr int64_t seen = 2;  // distances that a kernel of 3 x 3 reaches over
	const int kind = form_of(weight);
	TORCH_CHECK_VALUE(kind >= 0 && kForms[kind].stride() == 1, "weights of ", weight.sizes(), " are not those of winograd_weight without steps");
	check_each("padding", padding, 2, 0), check_each("dilation", {dilation}, 1, 1);
	TORCH_CHECK_VALUE(padding[0] % dilation == 0 && padding[1] % dilation == 0, "padding is ", padding, ", expected multiples of ", dilation);
	const Parts from{images(x).size(0), dilation, x.size(2), x.size(3)};
	const Parts to{from.images, dilation, from.height + 2 * padding[0] - seen * dilation, from.width + 2 * padding[1] - seen * dilation};
	TORCH_CHECK_VALUE(to.height > 0 && to.width > 0, "images of ", x.sizes(), " are smaller than the kernel");
	std::optional<Tensor> added;
	if (sum) {
		TORCH_CHECK_VALUE(sum->dim() == 4 && sum->size(0) == to.images && sum->size(2) == to.height && sum->size(3) == to.width,
		                  "what is added does not fit images of ", x.sizes());
		added = to.apart(sum->contiguous(last_channels));
	}
	const auto parts = from.apart(x.contiguous(last_channels));
	return to.together(winograd(parts, weight, bias, added, {padding[0] / dilation, padding[1] / dilation}, activation));
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("dilated(Tensor x, Tensor weight, Tensor? bias, Tensor? sum, int[] padding, int dilation, str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("dilated", dilated); }

}  // namespace
}  // namespace tg::convolution
