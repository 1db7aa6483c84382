// Kernels of images in the place of libtorch's: convolutions and norms that it has write, or read, where nothing is, or in another order.
#include <ATen/core/Tensor.h>
#include <ATen/ops/batch_norm_backward_cpu_dispatch.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution_backward_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/mkldnn_convolution_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/native_batch_norm_backward_cpu_dispatch.h>
#include <ATen/ops/native_group_norm_backward_cpu_dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels.h"
#include "rules.h"

namespace tg {
namespace {

using at::IntArrayRef;
using at::Tensor;

// reads_beyond tells of convolutions for whose weight oneDNN sums up planes from beyond the input:
// the first window that begins inside, but not at the first plane, ends outside.
bool reads_beyond(const Tensor& x, const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
	if (x.dim() != 5 || weight.dim() != 5 || stride.size() != 3 || padding.size() != 3 || dilation.size() != 3) {
		return false;
	}
	auto s = stride[0], p = padding[0], window = (weight.size(2) - 1) * dilation[0] + 1;
	return p > s && p % s != 0 && p < window && s - p % s + window > x.size(2);
}

// strides are those of windows that begin inside the padded input: longer ones, over which oneDNN reads outside memory, come
// to the same. Lists of other lengths than libtorch takes are left to its complaint.
std::vector<c10::SymInt> strides(const Tensor& x, IntArrayRef stride, IntArrayRef padding) {
	auto dims = x.dim() - 2;
	auto fits = [=](IntArrayRef list) { return list.size() == 1 || static_cast<int64_t>(list.size()) == dims; };
	auto of = [](IntArrayRef list, int64_t d) { return list.size() == 1 ? list[0] : list[d]; };
	std::vector<c10::SymInt> inside;
	if (!fits(stride) || !fits(padding)) {
		inside.assign(stride.begin(), stride.end());
		return inside;
	}
	for (int64_t d = 0; d < dims; d++) {
		inside.emplace_back(std::min(of(stride, d), std::max<int64_t>(1, x.size(d + 2) + 2 * of(padding, d))));
	}
	return inside;
}

using Gradients = std::tuple<Tensor, Tensor, Tensor>;

// Planes of zeros around the input, where there is no padding, make the same gradient.
Gradients convolution_backward(const Tensor& gradient, const Tensor& x, const Tensor& weight, at::OptionalSymIntArrayRef bias, c10::SymIntArrayRef stride,
                               c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed, c10::SymIntArrayRef output_padding, c10::SymInt groups,
                               std::array<bool, 3> mask) {
	auto steps = transposed ? stride.vec() : strides(x, rule::of(stride), rule::of(padding));
	auto run = [&](const Tensor& x, c10::SymIntArrayRef padding, std::array<bool, 3> mask) {
		return at::compositeexplicitautograd::convolution_backward_symint(gradient, x, weight, bias, steps, padding, dilation, transposed, output_padding, groups, mask);
	};
	if (transposed || !(mask[1] || mask[2]) || !reads_beyond(x, weight, rule::of(stride), rule::of(padding), rule::of(dilation))) {
		return run(x, padding, mask);
	}
	auto depth = padding[0].expect_int();
	auto planes = at::constant_pad_nd(x, {0, 0, 0, 0, depth, depth});
	std::vector<c10::SymInt> rest = {0, padding[1], padding[2]};
	auto [none, of_weight, of_bias] = run(planes, rest, {false, mask[1], mask[2]});  // oneDNN makes both at once
	auto of_x = mask[0] ? std::get<0>(run(x, padding, {true, false, false})) : Tensor();
	return {of_x, of_weight, of_bias};
}

// meets_nothing tells of a side whether some weight meets zeros around the numbers alone, where numbers lie apart that a kernel sees, and
// outputs, too.
bool meets_nothing(int64_t size, int64_t taps, int64_t stride, int64_t padding, int64_t dilation) {
	const int64_t room = size + 2 * padding - dilation * (taps - 1) - 1;
	if (dilation < 2 || stride < 2 || padding < 1 || room < 0) {
		return false;
	}
	for (int64_t tap = 0; tap < taps; tap++) {
		const int64_t at = tap * dilation - padding, zeros = (std::max<int64_t>(0, -at) + stride - 1) / stride;
		if (zeros > room / stride || at + zeros * stride >= size) {
			return true;
		}
	}
	return false;
}

bool has_channels_last(const Tensor& t) { return t.suggest_memory_format() != at::MemoryFormat::Contiguous; }

// leaves_rows tells of convolutions that make several channels of each one, in fewer bits, with a window of so many columns: oneDNN leaves rows
// of results unset where there is one column of them, at a distance of several, and no row is passed over.
bool leaves_rows(const Tensor& x, const Tensor& weight, IntArrayRef stride, int64_t padding, int64_t window, int64_t groups) {
	const bool several = groups > 1 && weight.size(1) == 1 && weight.size(0) > groups;
	return several && x.dim() == 4 && x.scalar_type() != at::kFloat && stride[0] == 1 && stride[1] > 1 && x.size(-1) + 2 * padding - window < stride[1];
}

// Of images whose channels lie last, oneDNN may add the bias at no address where the last side is such, and end the process, or leave results
// unset. The same zeros, laid out around it, make the same numbers, and so does what the one column of results sees.
Tensor mkldnn_convolution(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, c10::SymIntArrayRef padding, c10::SymIntArrayRef stride,
                          c10::SymIntArrayRef dilation, c10::SymInt groups) {
	auto p = rule::of(padding).vec(), s = rule::of(stride).vec();
	const auto d = rule::of(dilation);
	const size_t sides = p.size();
	const bool known = sides > 0 && s.size() == sides && d.size() == sides && x.dim() == static_cast<int64_t>(sides) + 2 && weight.dim() == x.dim();
	const int64_t apart = groups.expect_int();
	auto run = [&](const Tensor& x) { return at::compositeexplicitautograd::mkldnn_convolution(x, weight, bias, p, s, d, apart); };
	if (!known || !(has_channels_last(x) || has_channels_last(weight))) {
		return run(x);
	}
	const int64_t window = d.back() * (weight.size(-1) - 1) + 1;
	if (leaves_rows(x, weight, s, p.back(), window, apart)) {
		const int64_t zeros = std::exchange(p.back(), 0);
		s.back() = 1;
		return run(at::constant_pad_nd(x, {zeros, window - zeros - x.size(-1)}));
	}
	if (rule::of(bias).defined() && meets_nothing(x.size(-1), weight.size(-1), s.back(), p.back(), d.back())) {
		const int64_t zeros = std::exchange(p.back(), 0);
		return run(at::constant_pad_nd(x, {zeros, zeros}));
	}
	return run(x);
}

// Where channels come last, libtorch writes the gradient of the input also where nobody asks for it, and has no memory for it.
Gradients group_norm_backward(const Tensor& gradient, const Tensor& x, const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight, c10::SymInt n,
                              c10::SymInt channels, c10::SymInt positions, int64_t groups, std::array<bool, 3> mask) {
	bool wanted = std::exchange(mask[0], mask[0] || has_channels_last(x));
	auto all = at::cpu::native_group_norm_backward_symint(gradient, x, mean, rstd, weight, n, channels, positions, groups, mask);
	if (!wanted) {
		std::get<0>(all).reset();
	}
	return all;
}

// The format in which a tensor's numbers lie; none if they lie apart, or in another order.
std::optional<at::MemoryFormat> format_of(const Tensor& t) {
	for (auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast, at::MemoryFormat::ChannelsLast3d}) {
		if (t.is_contiguous(format)) {
			return format;
		}
	}
	return std::nullopt;
}

// One image's numbers may lie channel by channel though its strides do not say so. libtorch goes by these, and reads a gradient in the order
// of the input.
Tensor laid_out_as(const Tensor& gradient, const Tensor& x) {
	const auto format = format_of(x);
	const bool alike = gradient.suggest_memory_format() == x.suggest_memory_format();
	return alike && format && format_of(gradient) && !gradient.is_contiguous(*format) ? gradient.contiguous(*format) : gradient;
}

using Statistics = const std::optional<Tensor>&;

Gradients native_batch_norm_backward(const Tensor& gradient, const Tensor& x, Statistics weight, Statistics mean, Statistics variance,
                                     Statistics saved_mean, Statistics saved_scale, bool train, double eps, std::array<bool, 3> mask) {
	return at::cpu::native_batch_norm_backward(laid_out_as(gradient, x), x, weight, mean, variance, saved_mean, saved_scale, train, eps, mask);
}

Gradients batch_norm_backward(const Tensor& gradient, const Tensor& x, const Tensor& weight, Statistics mean, Statistics variance,
                              Statistics saved_mean, Statistics saved_scale, bool train, double eps, std::array<bool, 3> mask, const Tensor& reserve) {
	return at::cpu::batch_norm_backward(laid_out_as(gradient, x), x, weight, mean, variance, saved_mean, saved_scale, train, eps, mask, reserve);
}

}  // namespace

void replace_kernels_of_images(torch::Library& library) {
	library.impl("convolution_backward", convolution_backward);
	library.impl("mkldnn_convolution", mkldnn_convolution);
	library.impl("native_group_norm_backward", group_norm_backward);
	library.impl("native_batch_norm_backward", native_batch_norm_backward);
	library.impl("batch_norm_backward", batch_norm_backward);
}

}  // namespace tg
