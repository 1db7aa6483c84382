// Transposed convolutions, as convolutions without steps whose outputs are those of all places between two inputs.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

#include "call.h"
#include "layers.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// Side is one side of images: inputs are so many places of results apart, of which some are cut off at the beginning.
struct Side {
	int64_t inputs, kernel, stride, cut, more;

	int64_t taps() const { return (kernel + stride - 1) / stride; }
	int64_t groups() const { return inputs + taps() - 1; }  // of as many places as a step has
	int64_t outputs() const { return (inputs - 1) * stride - 2 * cut + kernel + more; }
	bool fits() const { return inputs > 0 && outputs() > 0 && cut + outputs() <= groups() * stride; }
};

// Puts groups of places, [groups down, groups across, places down, places across, channels], behind each other.
void put(const Side& down, const Side& across, const char* from, int64_t pixel, char* to) {
	const int64_t run = across.stride * pixel, group = down.stride * run, end = across.cut + across.outputs();
	for (int64_t y = down.cut; y < down.cut + down.outputs(); y++) {
		const char* row = from + y / down.stride * across.groups() * group + y % down.stride * run;
		for (int64_t x = across.cut; x < end;) {
			const int64_t first = x % across.stride, n = std::min(across.stride - first, end - x);
			memcpy(to, row + x / across.stride * group + first * pixel, n * pixel);
			to += n * pixel, x += n;
		}
	}
}

// Weights are those that direct_weight makes of [places down x places across x outputs, channels, taps down, taps across].
Tensor transposed(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, int64_t outputs, at::IntArrayRef kernel,
                  at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef output_padding, std::string_view activation) {
	if (x.dim() == 3) {
		return transposed(x.unsqueeze(2), weight, bias, outputs, kernel, stride, padding, output_padding, activation).squeeze(2);
	}
	images(x);
	check_each("kernel", kernel, 2, 1), check_each("stride", stride, 2, 1);
	check_each("padding", padding, 2, 0), check_each("output_padding", output_padding, 2, 0);
	const Side down{x.size(2), kernel[0], stride[0], padding[0], output_padding[0]};
	const Side across{x.size(3), kernel[1], stride[1], padding[1], output_padding[1]};
	TORCH_CHECK_VALUE(down.fits() && across.fits() && outputs > 0 && outputs <= kMost, "a kernel of ", kernel, " with padding of ", padding, " and ",
	                  output_padding, " does not fit images of ", x.sizes());
	const auto all = direct(x, weight, bias, {}, outputs * stride[0] * stride[1], {down.taps(), across.taps()}, {1, 1},
	                        {down.taps() - 1, across.taps() - 1}, 1, activation);
	auto y = at::empty({x.size(0), outputs, down.outputs(), across.outputs()}, x.options(), last_channels);
	const int64_t pixel = outputs * static_cast<int64_t>(x.element_size());
	const auto* from = static_cast<const char*>(all.const_data_ptr());
	auto* to = static_cast<char*>(y.mutable_data_ptr());
	for (int64_t i = 0; i < x.size(0); i++) {
		put(down, across, from + i * down.groups() * down.stride * across.groups() * across.stride * pixel, pixel,
		    to + i * down.outputs() * across.outputs() * pixel);
	}
	return y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("transposed(Tensor x, Tensor weight, Tensor? bias, int outputs, int[] kernel, int[] stride, int[] padding, int[] output_padding, "
	      "str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("transposed", transposed); }

}  // namespace
}  // namespace tg::convolution
