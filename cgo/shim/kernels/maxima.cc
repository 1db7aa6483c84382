#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "checks.h"
#include "weights.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// The largest of each channel of neighbouring pixels, as max_pool2d has it.
Tensor max_pool2d(const Tensor& x, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding) {
	TORCH_CHECK_VALUE(images(x).size(1) > 0, "expected images of some channels, got ", x.sizes());
	check_each("kernel", kernel, 2, 1);
	check_each("stride", stride, 2, 1);
	check_each("padding", padding, 2, 0);
	TORCH_CHECK_VALUE(padding[0] <= kernel[0] / 2 && padding[1] <= kernel[1] / 2, "padding is ", padding, ", more than half of the kernel");
	auto from = x.contiguous(last_channels);
	Task t{};
	t.images = x.size(0), t.channels = t.outputs = x.size(1), t.height = x.size(2), t.width = x.size(3);
	t.kernel_height = kernel[0], t.kernel_width = kernel[1], t.down = stride[0], t.across = stride[1];
	t.above = padding[0], t.left = padding[1];
	t.out_height = outputs_of(t.height, t.above, t.kernel_height, t.down), t.out_width = outputs_of(t.width, t.left, t.kernel_width, t.across);
	TORCH_CHECK_VALUE(t.out_height > 0 && t.out_width > 0, "images of ", x.sizes(), " are smaller than the kernel");
	auto to = at::empty({t.images, t.channels, t.out_height, t.out_width}, x.options(), last_channels);
	t.x = from.const_data_ptr(), t.y = to.mutable_data_ptr();
	const auto& k = kernels_for(x.scalar_type(), t.channels);
	int64_t work = t.out_width * t.channels * t.kernel_height * t.kernel_width;
	at::parallel_for(0, t.images * t.out_height, std::max<int64_t>(1, (1 << 18) / work),
	                 [&](int64_t first, int64_t last) { k.maxima(t, first, last); });
	return to;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("max_pool2d(Tensor x, int[] kernel, int[] stride, int[] padding) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("max_pool2d", max_pool2d); }

}  // namespace
}  // namespace tg::convolution
