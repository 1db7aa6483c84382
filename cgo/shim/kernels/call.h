// What operators of convolutions have in common.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>

#include "checks.h"
#include "weights.h"

namespace tg::convolution {

// The kernels for weights that direct_weight made.
inline const Kernels& panels_of(const at::Tensor& weight) {
	const int64_t two = together_of(weight.scalar_type());
	TORCH_CHECK_VALUE(weight.size(3) % two == 0, "weights of ", weight.sizes(), " are not those of direct_weight");
	return kernels_of(weight.scalar_type(), weight.size(3) / two);
}

// So many of a tensor's numbers further on.
inline const void* behind(const void* numbers, int64_t n, const at::Tensor& of) {
	return static_cast<const char*>(numbers) + n * static_cast<int64_t>(of.element_size());
}

inline void* behind(void* numbers, int64_t n, const at::Tensor& of) {
	return static_cast<char*>(numbers) + n * static_cast<int64_t>(of.element_size());
}

// Call is what the operators have in common: arguments that were checked, and memory that a task points into.
struct Call {
	at::Tensor x, y, bias, sum;
	std::optional<at::ScalarType> dtype;  // of the results, where it is not that of the images
	Task task{};

	void take(const at::Tensor& of, const at::Tensor& weight, const std::optional<at::Tensor>& b, std::optional<at::ScalarType> weights = {}) {
		x = images(of);
		task.images = x.size(0), task.channels = x.size(1), task.height = x.size(2), task.width = x.size(3);
		auto dtype = weights.value_or(x.scalar_type());
		TORCH_CHECK_VALUE(weight.scalar_type() == dtype && weight.is_contiguous(), "expected contiguous weights of ", dtype, ", got ",
		                  weight.scalar_type());
		TORCH_CHECK_VALUE(!b || (b->dim() == 1 && b->size(0) == task.outputs && b->scalar_type() == at::kFloat), "the bias does not fit ",
		                  task.outputs, " outputs, or is not float32");
		task.weight = weight.const_data_ptr();
		if (b) {
			bias = b->contiguous();
			task.bias = bias.const_data_ptr<float>();
		}
	}

	void step(at::IntArrayRef stride, at::IntArrayRef padding) {
		check_each("padding", padding, 2, 0);
		check_each("stride", stride, 2, 1);
		task.down = stride[0], task.across = stride[1];
	}

	// Weights that direct_weight made from a kernel, for so many outputs.
	void panels(const at::Tensor& weight, int64_t outputs, at::IntArrayRef kernel) {
		check_each("kernel", kernel, 2, 1);
		TORCH_CHECK_VALUE(weight.dim() == 4 && weight.numel() > 0, "weights of ", weight.sizes(), " are not those of direct_weight");
		int64_t vector = panels_of(weight).vector, all = weight.size(0);
		TORCH_CHECK_VALUE(outputs > (all - 1) * vector && outputs <= all * vector, "weights of ", weight.sizes(), " do not fit ", outputs,
		                  " outputs");
		task.outputs = outputs, task.kernel_height = kernel[0], task.kernel_width = kernel[1];
	}

	// The images' numbers that meet a row of the kernel meet as many weights.
	void fit(const at::Tensor& weight) const {
		const int64_t two = together_of(weight.scalar_type());
		bool fits = weight.size(1) == task.kernel_height && weight.size(2) * two == whole(task.kernel_width * task.channels, two);
		TORCH_CHECK_VALUE(fits, "weights of ", weight.sizes(), " do not fit images of ", x.sizes());
	}

	// Whether there are results of a height and a width.
	void fits(int64_t height, int64_t width) const {
		TORCH_CHECK_VALUE(height > 0 && width > 0, "images of ", x.sizes(), " are smaller than the kernel");
	}

	at::ScalarType results() const { return dtype.value_or(x.scalar_type()); }

	// Results, or the sum in whose place they are.
	void make(int64_t height, int64_t width, const std::optional<at::Tensor>& s, bool in_place = false) {
		fits(height, width);
		const int64_t sizes[] = {task.images, task.outputs, height, width};
		TORCH_CHECK_VALUE(!s || (s->sizes() == at::IntArrayRef(sizes) && s->scalar_type() == results()), "what is added does not fit ",
		                  at::IntArrayRef(sizes));
		if (s) {
			sum = s->contiguous(last_channels);
			task.sum = sum.const_data_ptr();
		}
		y = in_place ? sum : at::empty(sizes, x.options().dtype(results()), last_channels);
		task.y = y.mutable_data_ptr(), task.out_height = height, task.out_width = width;
	}
};

// Room for a number for each channel of images, as images of one pixel that are kept, or a row for each image.
inline at::Tensor room_for_means(const at::Tensor& x, bool keep, at::ScalarType dtype) {
	const auto options = x.options().dtype(dtype);
	return keep ? at::empty({x.size(0), x.size(1), 1, 1}, options, last_channels) : at::empty({x.size(0), x.size(1)}, options);
}

// The sum with results in its place, where they may be already.
inline at::Tensor& in_place(at::Tensor& sum, const at::Tensor& results) { return results.is_alias_of(sum) ? sum : sum.copy_(results); }

// Seen are the rows of images of a height that the outputs of a task from one row to another see.
struct Seen {
	int64_t first, last, from, to, above;

	Seen(const Task& t, int64_t height, int64_t begin, int64_t end) : first(begin), last(end) {
		const int64_t top = first * t.down - t.above;
		from = std::clamp<int64_t>(top, 0, height);
		to = std::clamp<int64_t>(top + (last - 1 - first) * t.down + t.kernel_height, from, height);
		above = from - top;
	}

	// The task for these rows of an image, where there are no others, with results in their place in y.
	Task task(const Task& whole, int64_t image, const at::Tensor& y) const {
		Task t = whole;
		t.images = 1, t.height = to - from, t.above = above, t.out_height = last - first;
		t.y = behind(t.y, (image * whole.out_height + first) * whole.out_width * whole.outputs, y);
		return t;
	}
};

// The size of even pieces of about so many of all.
inline int64_t even(int64_t all, int64_t about) {
	const int64_t pieces = std::max<int64_t>(1, (all + about / 2) / about);
	return (all + pieces - 1) / pieces;
}

// Runs run(image, first, last) of what make makes for all rows of images, a band of them after the other, among threads.
template <class Make>
void in_bands(int64_t images, int64_t height, int64_t band, const Make& make) {
	at::parallel_for(0, images * height, band, [&](int64_t first, int64_t last) {
		auto rows = make();
		while (first < last) {
			const int64_t y = first % height, n = std::min({band, height - y, last - first});
			rows.run(first / height, y, y + n);
			first += n;
		}
	});
}

// So many rows, or pixels, meet a panel of weights at once as stay near.
constexpr int64_t kPiece = 96;

// Runs run(panel, first, last) for each panel and each piece of rows, or pixels, among threads. They are even, since a few that are left over
// would take as many weights.
template <class Run>
void in_pieces(int64_t rows, int64_t panels, int64_t weights, const Run& run) {
	const int64_t size = even(rows, kPiece), count = size == 0 ? 0 : (rows + size - 1) / size;
	at::parallel_for(0, panels * count, share_of(size, weights / panels), [&](int64_t first, int64_t last) {
		for (; first < last; first++) {
			const int64_t from = first / panels * size;
			run(first % panels, from, std::min(from + size, rows));
		}
	});
}

// Computes direct convolutions, whose images have their zeros around already.
void pixels(const Task& t, const at::Tensor& weight);

}  // namespace tg::convolution
