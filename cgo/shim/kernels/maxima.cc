// The largest of neighbouring pixels, as max_pool2d has them, of images or of what Winograd's tiles become.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cstring>

#include "tiled.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// A window's task for images of these sizes; an error where it does not fit.
Task window(int64_t images, int64_t channels, int64_t height, int64_t width, at::IntArrayRef kernel, at::IntArrayRef stride,
            at::IntArrayRef padding) {
	check_each("kernel", kernel, 2, 1);
	check_each("stride", stride, 2, 1);
	check_each("padding", padding, 2, 0);
	TORCH_CHECK_VALUE(padding[0] <= kernel[0] / 2 && padding[1] <= kernel[1] / 2, "padding is ", padding, ", more than half of the kernel");
	Task t{};
	t.images = images, t.channels = t.outputs = channels, t.height = height, t.width = width;
	t.kernel_height = kernel[0], t.kernel_width = kernel[1], t.down = stride[0], t.across = stride[1];
	t.above = padding[0], t.left = padding[1];
	t.out_height = outputs_of(t.height, t.above, t.kernel_height, t.down), t.out_width = outputs_of(t.width, t.left, t.kernel_width, t.across);
	TORCH_CHECK_VALUE(t.out_height > 0 && t.out_width > 0, "images of ", height, " x ", width, " pixels are smaller than the kernel");
	return t;
}

Tensor results(Task& t, at::TensorOptions options) {
	auto y = at::empty({t.images, t.channels, t.out_height, t.out_width}, options, last_channels);
	t.y = y.mutable_data_ptr();
	return y;
}

Tensor max_pool2d(const Tensor& x, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding) {
	TORCH_CHECK_VALUE(images(x).size(1) > 0, "expected images of some channels, got ", x.sizes());
	auto from = x.contiguous(last_channels);
	Task t = window(x.size(0), x.size(1), x.size(2), x.size(3), kernel, stride, padding);
	auto to = results(t, x.options());
	t.x = from.const_data_ptr();
	const auto& k = kernels_for(x.scalar_type(), t.channels);
	int64_t work = t.out_width * t.channels * t.kernel_height * t.kernel_width;
	at::parallel_for(0, t.images * t.out_height, std::max<int64_t>(1, (1 << 18) / work),
	                 [&](int64_t first, int64_t last) { k.maxima(t, first, last); });
	return to;
}

// Pooled are rows of what tiles become, of which the largest are taken while they are near. They are computed as whole tiles.
struct Pooled {
	const Tiled& tiled;
	const Task& window;
	void (*maxima)(const Task& t, int64_t first, int64_t last);
	const Tensor& y;
	int64_t block, row;  // tiles that are computed together, and the numbers of a row
	Tensor rows, room;
	int64_t image = -1, top = 0, bottom = 0;  // the rows that are there

	Pooled(const Tiled& t, const Task& w, decltype(maxima) m, const Tensor& results, int64_t band)
	    : tiled(t), window(w), maxima(m), y(results), block(t.block(t.call.task)), row(w.width * w.channels),
	      rows(at::empty({(band - 1) * w.down + w.kernel_height + 2 * t.form.down, row}, t.call.x.options().dtype(t.call.results()))),
	      room(t.room(block)) {}

	// Rows of an image's results, one after the other.
	void run(int64_t own, int64_t first, int64_t last) {
		const Seen seen(window, window.height, first, last);
		const int64_t high = tiled.form.down;
		if (own == image && seen.from >= top && seen.from < bottom) {
			void* begin = rows.mutable_data_ptr();
			memmove(begin, behind(begin, (seen.from - top) * row, rows), (bottom - seen.from) * row * rows.element_size());
			top = seen.from;
		} else {
			top = bottom = seen.from / high * high;
		}
		image = own;
		const int64_t to = std::min((seen.to + high - 1) / high * high, window.height);
		if (bottom < to) {
			compute(bottom, to);
			bottom = to;
		}
		Task t = seen.task(window, image, y);
		t.x = behind(rows.const_data_ptr(), (seen.from - top) * row, rows);
		maxima(t, 0, t.out_height);
	}

	void compute(int64_t first, int64_t last) const {
		Task t = tiled.call.task;
		t.x = behind(t.x, image * t.height * t.width * t.channels, tiled.call.x);
		t.images = 1, t.above -= first * tiled.form.stride(), t.out_height = last - first;
		t.y = behind(rows.mutable_data_ptr(), (first - top) * row, rows);
		tiled.compute(t, 0, tiled.form.tiles(t), block, room);
	}
};

// Results are of the images' dtype, or of one that they are converted to.
Tensor winograd_max_pool2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, at::IntArrayRef padding,
                           std::string_view activation, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef window_padding,
                           at::ScalarType dtype) {
	const Tiled tiled(x, weight, bias, padding, activation);
	const Task& wide = tiled.call.task;
	Task t = window(wide.images, wide.outputs, wide.out_height, wide.out_width, kernel, stride, window_padding);
	const auto* k = any_kernels(dtype);
	const auto made = tiled.call.results();
	TORCH_CHECK_NOT_IMPLEMENTED(k != nullptr && (dtype == made || made == at::kFloat), "this processor has no kernel that makes ", dtype, " of ",
	                            made);
	auto y = results(t, x.options().dtype(dtype));
	// So many rows stay near.
	constexpr int64_t near = 1 << 16;
	const int64_t some = near / (t.width * t.channels), band = std::max<int64_t>(0, some - t.kernel_height) / t.down + 1;
	auto maxima = dtype == made ? k->maxima : k->maxima_float;
	in_bands(t.images, t.out_height, band, [&] { return Pooled(tiled, t, maxima, y, band); });
	return y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("max_pool2d(Tensor x, int[] kernel, int[] stride, int[] padding) -> Tensor");
	m.def("winograd_max_pool2d(Tensor x, Tensor weight, Tensor? bias, int[] padding, str activation, int[] kernel, int[] stride, "
	      "int[] window_padding, ScalarType dtype) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("max_pool2d", max_pool2d);
	m.impl("winograd_max_pool2d", winograd_max_pool2d);
}

}  // namespace
}  // namespace tg::convolution
