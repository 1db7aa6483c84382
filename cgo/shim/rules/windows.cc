// Windows that slide over a tensor, borders around one, and outputs of a size that is asked for.
// Their arithmetic overflows, and where there are no elements to hold, nothing but patience
// bounds the loops.
#include "rules.h"

#include <cmath>
#include <string_view>

namespace tg::rule {
namespace {

using Wide = __int128;

constexpr int64_t int_max = std::numeric_limits<int32_t>::max();

// An output has at most so many elements, or for each element of the input.
constexpr Wide most_outputs = Wide(1) << 31;
constexpr Wide most_for_each = 1 << 16;

// Loops run through an output of no elements, too, along the dimensions that are not 0.
constexpr Wide most_of_nothing = 1 << 24;

// Kernels step through a border to its end, for each output.
constexpr Wide most_taps = Wide(1) << 34;

// Output counts elements and stops counting far past every bound.
class Output {
 public:
	explicit Output(const Tensor& x, int64_t spatial) : given_(x.numel()) {
		for (int64_t d = 0; d < x.dim() - spatial; d++) {
			times(x.size(d));
		}
	}
	void times(Wide n) {
		empty_ |= n == 0;
		count_ = std::min(count_ * std::max(n, Wide(1)), Wide(1) << 62);
	}
	// steps are those of the loops inside.
	void check(Wide steps = 1) const {
		TORCH_CHECK_VALUE(steps == 1 || count_ * std::min(steps, Wide(1) << 62) <= most_taps, "an output of ", static_cast<int64_t>(count_),
		                  " elements that takes ", static_cast<int64_t>(steps), " steps for each takes too long");
		TORCH_CHECK_VALUE(!empty_ || count_ <= most_of_nothing, "an output without elements that has ", static_cast<int64_t>(count_), " of nothing is too large");
		fit();
	}
	void fit() const {
		TORCH_CHECK_VALUE(count_ <= std::max(most_outputs, most_for_each * given_), "an output of at least ", static_cast<int64_t>(count_), " elements from an input of ", static_cast<int64_t>(given_),
		                  " is too large: at most ", static_cast<int64_t>(most_outputs), ", or ", static_cast<int64_t>(most_for_each), " for each element");
	}

 private:
	Wide count_ = 1, given_;
	bool empty_ = false;
};

// Element d of a list in which one may stand for all.
int64_t element(IntArrayRef list, size_t d, int64_t otherwise) {
	return list.empty() ? otherwise : list.size() == 1 ? list[0] : d < list.size() ? list[d] : otherwise;
}

// holds_element tells whether each window that begins in the border of n elements reaches one of
// them: steps as wide as all of these may pass over them.
bool holds_element(Wide n, Wide k, Wide step, Wide border, Wide dilation) {
	for (Wide start = -border; dilation > n && start < 0; start += step) {
		Wide first = (-start + dilation - 1) / dilation;
		if (first >= k || start + first * dilation >= n) {
			return false;
		}
	}
	return true;
}

void pooled(int64_t dims, const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
	if (!has(x) || x.dim() < dims || kernel.empty()) {
		return;
	}
	Output out(x, dims);
	Wide steps = 1;
	for (int64_t d = 0; d < dims; d++) {
		Wide k = element(kernel, d, 1), s = element(stride, d, static_cast<int64_t>(k)), p = element(padding, d, 0), w = element(dilation, d, 1);
		if (k <= 0 || s <= 0 || p < 0 || w <= 0) {
			return;  // libtorch has words for it
		}
		Wide n = x.size(x.dim() - dims + d);
		out.times((n + 2 * p - w * (k - 1) - 1) / s + 2);
		steps = std::max(steps, p / w);
		TORCH_CHECK(!recorded(x) || n == 0 || holds_element(n, k, s, p, w), "a window of kernel_size ", kernel, " and dilation ", dilation, " lies in the padding alone: its maximum has no gradient");
	}
	out.check(steps);
}

}  // namespace

// Kernels compute with these in 32 bits, or step through them one by one.
void lengths(const char* name, OptionalIntArrayRef list) {
	for (auto n : list.value_or(IntArrayRef())) {
		TORCH_CHECK(n <= int_max && n >= -int_max, "expected ", name, " to be at most ", int_max, ", but got ", *list);
	}
}

// Kernels compute the reach of a window with holes in 32 bits.
void reach(IntArrayRef kernel, IntArrayRef dilation) {
	for (size_t d = 0; d < std::max(kernel.size(), dilation.size()); d++) {
		Wide k = element(kernel, d, 1), w = element(dilation, d, 1);
		TORCH_CHECK_VALUE(k <= 1 || w <= 0 || w * (k - 1) < int_max, "a window of kernel_size ", kernel, " and dilation ", dilation, " reaches too far: at most ", int_max, " elements");
	}
}

void pooled1(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
	pooled(1, x, kernel, stride, padding, dilation);
}

void pooled2(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
	pooled(2, x, kernel, stride, padding, dilation);
}

void pooled3(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
	pooled(3, x, kernel, stride, padding, dilation);
}

// convolved counts what comes of windows of weight's size, or of elements that are spread to such windows. Sizes that libtorch
// has words for are left to it.
void convolved(const Tensor& x, const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding) {
	auto dims = has(weight) ? weight.dim() - 2 : 0;
	if (!has(x) || dims < 1 || x.dim() < dims + 1) {
		return;
	}
	Output out(x, dims + 1);
	out.times(weight.size(transposed ? 1 : 0));
	for (int64_t d = 0; d < dims; d++) {
		Wide n = x.size(x.dim() - dims + d), s = element(stride, d, 1), p = element(padding, d, 0);
		Wide reach = Wide(element(dilation, d, 1)) * (weight.size(2 + d) - 1);
		Wide more = transposed ? (n - 1) * s - 2 * p + reach + element(output_padding, d, 0) : n + 2 * p - reach - 1;
		if (s <= 0 || p < 0 || reach < 0 || more < 0) {
			return;
		}
		out.times((transposed ? more : more / s) + 1);
	}
	out.fit();
}

void spread(const Tensor& x, const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, IntArrayRef output_padding) {
	convolved(x, weight, stride, padding, dilation, true, output_padding);
}

// oneDNN looks at as many places as the square of the stride for each element.
void scattered(const Tensor& x, IntArrayRef stride) {
	constexpr int64_t longest = 512;
	if (!has(x) || !x.is_mkldnn()) {
		return;
	}
	for (auto s : stride) {
		TORCH_CHECK_VALUE(s <= longest, "a transposed convolution of a tensor of oneDNN's takes strides of at most ", longest, ", but got ", stride, ": ToDense has no such limit");
	}
}

void resized(const Tensor& x, OptionalIntArrayRef output, std::optional<at::ArrayRef<double>> factors) {
	auto dims = static_cast<int64_t>(output ? output->size() : factors ? factors->size() : 0);
	if (!has(x) || x.dim() < dims) {
		return;
	}
	Output out(x, dims);
	for (int64_t d = 0; d < dims; d++) {
		if (output) {
			out.times((*output)[d]);
		} else {
			auto n = std::abs((*factors)[d]) * static_cast<double>(x.size(x.dim() - dims + d));
			out.times(n < 0x1p62 ? static_cast<Wide>(n) : Wide(1) << 62);  // NaN too is too large
		}
	}
	out.check();
}

// Borders come in pairs, the last dimension first.
void padded(const Tensor& x, IntArrayRef padding) {
	auto dims = static_cast<int64_t>(padding.size() / 2);
	if (!has(x) || x.dim() < dims) {
		return;
	}
	Output out(x, dims);
	for (int64_t d = 0; d < dims; d++) {
		out.times(Wide(x.size(x.dim() - 1 - d)) + padding[2 * d] + padding[2 * d + 1]);
	}
	out.check();
}

// Kernels read as many numbers as they need from a list of any length.
void numbers(const char* name, int64_t count, IntArrayRef list) {
	TORCH_CHECK(static_cast<int64_t>(list.size()) >= count, "expected ", name, " of ", count, " numbers, but got ", list);
}

// Those for quantized tensors do where others take one number for all. No stride is one of the window's size.
void numbers(const char* name, int64_t count, IntArrayRef list, const Tensor& x) {
	if (has(x) && x.is_quantized() && (!list.empty() || std::string_view(name) != "stride")) {
		TORCH_CHECK_VALUE(static_cast<int64_t>(list.size()) == count, "expected ", name, " of ", count, " numbers for a quantized tensor, but got ", list);
	}
}

// What is cut off at one end cannot go around to the other: the kernel takes it from elements
// that are not set yet.
void circular(const Tensor& x, IntArrayRef padding, Mode mode) {
	auto dims = static_cast<int64_t>(padding.size() / 2);
	if (!has(x) || x.dim() < dims || (mode && *mode != "circular")) {
		return;
	}
	for (int64_t d = 0; d < dims; d++) {
		auto n = x.size(x.dim() - 1 - d), before = padding[2 * d], after = padding[2 * d + 1];
		auto left = n + std::min<int64_t>(std::min(before, after), 0);
		TORCH_CHECK_VALUE(std::max(before, after) <= left || left == n, "Padding value causes wrapping around more than once: ", padding, " of a tensor of size ", x.sizes());
	}
}

void unfolded(const Tensor& x, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
	if (!has(x) || x.dim() < 3) {
		return;
	}
	Output out(x, 2);
	for (int64_t d = 0; d < 2; d++) {
		Wide k = element(kernel, d, 1), s = element(stride, d, 1);
		if (s <= 0) {
			return;
		}
		out.times(k);
		out.times((x.size(x.dim() - 2 + d) + 2 * Wide(element(padding, d, 0)) - Wide(element(dilation, d, 1)) * (k - 1) - 1) / s + 2);
	}
	out.check();
}

// Kernels divide by a factor that was given, and take the quotient for an index.
void factors(IntArrayRef output, std::optional<double> depth, std::optional<double> height, std::optional<double> width) {
	for (auto factor : {depth, height, width}) {
		for (auto n : output) {
			TORCH_CHECK_VALUE(!factor || *factor <= 0 || static_cast<double>(n) / *factor <= static_cast<double>(int_max), "a scale of ", *factor, " makes no ", n, " of any size");
		}
	}
}

// A factor that was given is not held against the sizes: the window of the last output has to
// reach into the input.
void antialiased(IntArrayRef input, IntArrayRef output, std::optional<double> height, std::optional<double> width) {
	if (input.size() != 4 || output.size() != 2) {
		return;
	}
	auto check = [&](size_t d, std::optional<double> factor) {
		auto reach = static_cast<double>(input[2 + d]) * factor.value_or(0);
		TORCH_CHECK_VALUE(!factor || *factor <= 0 || static_cast<double>(output[d]) - 0.5 < reach, "a scale of ", *factor, " makes no ", output[d], " of ", input[2 + d]);
	};
	check(0, height);
	check(1, width);
}

void antialiased(const Tensor& x, IntArrayRef output, std::optional<double> height, std::optional<double> width) {
	if (has(x)) {
		antialiased(x.sizes(), output, height, width);
	}
}

// The backward pass takes a border or a reflection of no number for a place, and computes with
// others until they are none.
void places(const Tensor& input, const Tensor& grid, int64_t padding) {
	bool kept = padding != 0 && (recorded(input) || recorded(grid));
	constexpr double farthest = 1 << 24;
	TORCH_CHECK_VALUE(!kept || !on_host(grid) || within(grid, farthest), "grid_sampler has no gradient where the grid has NaNs or numbers past ", farthest, ", but for padding_mode zeros");
}

void folded(const Tensor& x, IntArrayRef output) {
	resized(x, output);
}

}  // namespace tg::rule
