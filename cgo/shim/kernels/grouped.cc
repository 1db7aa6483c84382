// Convolutions of groups of channels, which see none of the others': what a group has of the images is put together first, with zeros
// around, and is an image of few channels then.
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <cstring>

#include "call.h"
#include "padding.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// Part is what a group has of images whose channels lie last, with zeros around. The next group's takes its place.
struct Part {
	const Tensor& x;
	at::IntArrayRef padding;
	Tensor part;

	Part(const Tensor& images, int64_t channels, at::IntArrayRef zeros)
	    : x(images), padding(zeros),
	      part(at::empty({x.size(0), channels, x.size(2) + 2 * padding[0], x.size(3) + 2 * padding[1]}, x.options(), last_channels)) {
		memset(part.mutable_data_ptr(), 0, part.nbytes());
	}

	// The pixels of channels from one on.
	void put(int64_t first) {
		const int64_t size = static_cast<int64_t>(x.element_size()), own = part.size(1) * size, all = x.size(1) * size;
		const int64_t height = x.size(2), width = x.size(3);
		const auto* from = static_cast<const char*>(x.const_data_ptr()) + first * size;
		auto* to = static_cast<char*>(part.mutable_data_ptr());
		for (int64_t row = 0; row < x.size(0) * height; row++, from += width * all) {
			const int64_t line = row / height * part.size(2) + padding[0] + row % height;
			copy_pixels(width, own, from, all, to + (line * part.size(3) + padding[1]) * own, own);
		}
	}
};

// Weights are those that direct_weight makes for each group, one behind the other.
Tensor grouped(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& sum, int64_t outputs,
               at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, std::string_view activation) {
	TORCH_CHECK_VALUE(weight.dim() == 5 && weight.numel() > 0, "weights of ", weight.sizes(), " are not those of groups");
	const auto one = weight.select(0, 0);
	const int64_t groups = weight.size(0), own = outputs / groups, channels = images(x).size(1) / groups;
	TORCH_CHECK_VALUE(channels * groups == x.size(1) && own * groups == outputs && own == one.size(0) * panels_of(one).vector, groups,
	                  " groups do not fit ", x.size(1), " channels and ", outputs, " outputs");
	Call c;
	c.panels(one, own, kernel);
	c.task.outputs = outputs, c.task.activation = activation_of(activation);
	c.step(stride, padding);
	c.take(x.contiguous(last_channels), weight, bias);
	c.task.channels = channels;
	c.fit(one);
	c.make(outputs_of(c.task.height, padding[0], kernel[0], stride[0]), outputs_of(c.task.width, padding[1], kernel[1], stride[1]), sum);
	at::parallel_for(0, groups, 1, [&](int64_t first, int64_t last) {
		Part images(c.x, channels, padding);
		for (; first < last; first++) {
			images.put(first * channels);
			Task t = c.task;
			t.x = images.part.const_data_ptr(), t.height = images.part.size(2), t.width = images.part.size(3);
			t.weight = behind(t.weight, first * one.numel(), weight);
			t.bias = t.bias != nullptr ? t.bias + first * own : nullptr;
			t.sum = t.sum != nullptr ? behind(t.sum, first * own, c.y) : nullptr;
			t.y = behind(t.y, first * own, c.y);
			pixels(t, one);
		}
	});
	return c.y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("grouped(Tensor x, Tensor weight, Tensor? bias, Tensor? sum, int outputs, int[] kernel, int[] stride, int[] padding, "
	      "str activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("grouped", grouped); }

}  // namespace
}  // namespace tg::convolution
