// The sum of two convolutions of 1 x 1, as where a branch of a residual network meets its shortcut, is one of the channels of both, beside each
// other: sums stay in registers until they are whole, and what the shortcut made is neither written nor rounded.
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <algorithm>

#include "call.h"
#include "padding.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// Sides are images of the same number of lines and pixels, of which those of the second lie some apart.
struct Sides {
	const Tensor &x, &other;
	int64_t lines, width, down, across;

	int64_t channels() const { return x.size(1) + other.size(1); }

	// Puts the pixels of both beside each other, of some lines, counted through all images, from one on.
	void put(int64_t first, int64_t last, void* to) const {
		const int64_t size = static_cast<int64_t>(x.element_size()), own = x.size(1) * size, others = other.size(1) * size, all = own + others;
		auto* place = static_cast<char*>(to);
		for (int64_t line = first; line < last; line++, place += width * all) {
			const int64_t row = line / lines * other.size(2) + line % lines * down;
			const void* from = behind(x.const_data_ptr(), line * width * x.size(1), x);
			const void* beside = behind(other.const_data_ptr(), row * other.size(3) * other.size(1), other);
			copy_pixels(width, own, static_cast<const char*>(from), own, place, all);
			copy_pixels(width, others, static_cast<const char*>(beside), across * others, place + own, all);
		}
	}
};

// Weights are those that direct_weight makes of both kernels, beside each other.
Tensor direct_beside(const Tensor& x, const Tensor& other, const Tensor& weight, const std::optional<Tensor>& bias,
                     const std::optional<Tensor>& sum, int64_t outputs, at::IntArrayRef stride, std::string_view activation) {
	Call c;
	c.panels(weight, outputs, {1, 1});
	check_each("stride", stride, 2, 1);
	c.task.activation = activation_of(activation);
	c.take(x.contiguous(last_channels), weight, bias);
	const Tensor images_beside = images(other).contiguous(last_channels);
	const Sides sides{c.x, images_beside, c.task.height, c.task.width, stride[0], stride[1]};
	const bool alike = other.scalar_type() == x.scalar_type() && other.size(0) == x.size(0) &&
	                   outputs_of(other.size(2), 0, 1, stride[0]) == sides.lines && outputs_of(other.size(3), 0, 1, stride[1]) == sides.width;
	TORCH_CHECK_VALUE(alike, "images of ", other.sizes(), ", ", stride, " apart, do not lie beside those of ", x.sizes());
	c.task.channels = sides.channels();
	c.fit(weight);
	c.make(sides.lines, sides.width, sum);
	const int64_t lines = c.task.images * sides.lines, band = even(lines, std::max<int64_t>(1, kPiece / sides.width));
	const int64_t bands = lines == 0 ? 0 : (lines + band - 1) / band;
	auto run = [&](int64_t from, int64_t to) {
		auto room = at::empty({band * sides.width * sides.channels()}, x.options());
		for (int64_t first = from * band; from < to; from++, first += band) {
			const int64_t last = std::min(first + band, lines), place = first * sides.width * outputs;
			sides.put(first, last, room.mutable_data_ptr());
			Task t = c.task;
			t.images = t.height = t.out_height = 1, t.width = t.out_width = (last - first) * sides.width;
			t.x = room.const_data_ptr(), t.y = behind(t.y, place, x);
			t.sum = t.sum != nullptr ? behind(t.sum, place, x) : nullptr;
			pixels(t, weight);
		}
	};
	// Where there are fewer bands than threads, these share what each has.
	bands < at::get_num_threads() ? run(0, bands) : at::parallel_for(0, bands, 1, run);
	return c.y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("direct_beside(Tensor x, Tensor other, Tensor weight, Tensor? bias, Tensor? sum, int outputs, int[] stride, str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("direct_beside", direct_beside); }

}  // namespace
}  // namespace tg::convolution
