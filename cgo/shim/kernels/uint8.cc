#include "uint8.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/remainder.h>
#include <torch/library.h>

#include <numeric>
#include <string_view>

#include "checks.h"
#include "processor.h"
#include "weights.h"

namespace tg::uint8 {

const Kernels& kernels() {
	TORCH_CHECK_NOT_IMPLEMENTED(vnni != nullptr && processor::abilities().vnni, "this processor has no kernel of eight bits");
	return *vnni;
}

namespace {

using at::Tensor;
using convolution::last_channels;

const Tensor& checked(const char* what, const Tensor& x, at::ScalarType dtype, int64_t dim) {
	TORCH_CHECK_VALUE(x.scalar_type() == dtype && x.dim() == dim, "expected ", what, " of ", dim, " dimensions of ", dtype, ", got ",
	                  x.sizes(), " of ", x.scalar_type());
	return x;
}

// Results are how an operator's results are made: of the sums of each output, and in which dtype.
struct Results {
	const Tensor &start, &scale, &bias;
	std::string_view activation;
	double y_scale;
	int64_t y_zero;
	at::ScalarType dtype;

	// Outputs in so many lanes.
	Finish finish(int64_t lanes) const {
		TORCH_CHECK_VALUE(start.scalar_type() == at::kInt && scale.scalar_type() == at::kFloat && bias.scalar_type() == at::kFloat,
		                  "expected int32 to start with, and scales and a bias of float32");
		for (const auto* t : {&start, &scale, &bias}) {
			TORCH_CHECK_VALUE(t->dim() == 1 && t->size(0) == lanes && t->is_contiguous(), "expected a number for each of ", lanes,
			                  " lanes, got ", t->sizes());
		}
		TORCH_CHECK_VALUE(dtype == at::kByte || dtype == at::kFloat, "results are uint8 or float32, not ", dtype);
		Finish f{};
		f.start = start.const_data_ptr<int32_t>(), f.scale = scale.const_data_ptr<float>(), f.bias = bias.const_data_ptr<float>();
		f.activation = convolution::activation_of(activation);
		if (f.activation == Activation::relu && dtype == at::kByte && y_zero == 0) {
			f.activation = Activation::none;  // what is less than zero becomes zero
		}
		f.by = static_cast<float>(1 / y_scale), f.zero = static_cast<float>(y_zero);
		return f;
	}
};

// Call is what the operators have in common: arguments that were checked, and memory that a task points into.
struct Call {
	Tensor x, y, sum;
	Task task{};

	void take(const Tensor& images, at::IntArrayRef kernel, at::IntArrayRef stride) {
		x = checked("images", images, at::kByte, 4).contiguous(last_channels);
		convolution::check_each("kernel", kernel, 2, 1), convolution::check_each("stride", stride, 2, 1);
		task.images = x.size(0), task.channels = x.size(1), task.height = x.size(2), task.width = x.size(3);
		task.kernel_height = kernel[0], task.kernel_width = kernel[1], task.down = stride[0], task.across = stride[1];
	}

	// pad lays out images with zeros around and room behind. The columns that steps begin with come first, then those behind these.
	void pad(at::IntArrayRef padding, int64_t zero, int64_t steps) {
		int64_t channels = task.channels, above = padding[0], left = padding[1], height = task.height + 2 * above,
		        width = task.width + 2 * left;
		int64_t columns = (width + steps - 1) / steps, row = columns * steps * channels;
		auto to = at::empty({task.images * height * row + kBytes}, x.options());
		uint8_t* out = to.mutable_data_ptr<uint8_t>();
		const uint8_t* from = x.const_data_ptr<uint8_t>();
		for (int64_t i = 0; i < task.images * height; i++, out += row) {
			int64_t y = i % height - above;
			if (y < 0 || y >= task.height) {
				memset(out, static_cast<int>(zero), row);
				continue;
			}
			if (steps == 1) {
				memset(out, static_cast<int>(zero), left * channels);
				memcpy(out + left * channels, from, task.width * channels);
				memset(out + (left + task.width) * channels, static_cast<int>(zero), left * channels);
			} else {
				memset(out, static_cast<int>(zero), row);
				for (int64_t at = 0; at < std::min(steps, task.width); at++) {
					uint8_t* to = out + ((at + left) % steps * columns + (at + left) / steps) * channels;
					kernels().gather(from + at * channels, steps * channels, (task.width - at + steps - 1) / steps, channels, to);
				}
			}
			from += task.width * channels;
		}
		memset(out, static_cast<int>(zero), kBytes);
		x = to, task.height = height, task.width = width;
	}

	// place finds the sizes of the results, before images are padded.
	void place(at::IntArrayRef padding) {
		convolution::check_each("padding", padding, 2, 0);
		task.out_height = convolution::outputs_of(task.height, padding[0], task.kernel_height, task.down);
		task.out_width = convolution::outputs_of(task.width, padding[1], task.kernel_width, task.across);
		TORCH_CHECK_VALUE(task.out_height > 0 && task.out_width > 0, "images of ", x.sizes(), " are smaller than the kernel");
	}

	void make(const Results& r, int64_t outputs) {
		y = at::empty({task.images, outputs, task.out_height, task.out_width}, x.options().dtype(r.dtype), last_channels);
		if (r.dtype == at::kByte) {
			task.finish.whole = y.mutable_data_ptr<uint8_t>();
		} else {
			task.finish.real = y.mutable_data_ptr<float>();
		}
	}

	void add(const std::optional<Tensor>& s, double scale, int64_t zero) {
		TORCH_CHECK_VALUE(!s || (s->sizes() == y.sizes() && s->scalar_type() == at::kByte), "what is added does not fit ", y.sizes());
		if (s) {
			sum = s->contiguous(last_channels);
			task.finish.sum = sum.const_data_ptr<uint8_t>();
			task.finish.sum_scale = static_cast<float>(scale), task.finish.sum_zero = static_cast<float>(zero);
		}
	}
};

// Weights [outputs, channels, height, width]: [vectors, height, fours, 16, 4], with zeros for the outputs and the channels of a row that
// are too many. The vectors of a panel lie side by side: [height, fours, vectors of the panel, 16, 4].
Tensor direct_weight(const Tensor& weight) {
	kernels();
	TORCH_CHECK_VALUE(checked("weights", weight, at::kChar, 4).numel() > 0, "there are no weights in ", weight.sizes());
	int64_t outputs = weight.size(0), height = weight.size(2), n = weight.size(1) * weight.size(3);
	int64_t vectors = (outputs + kSums - 1) / kSums, fours = (n + 3) / 4;
	auto numbers = weight.permute({0, 2, 3, 1}).reshape({outputs, height, n});
	auto whole = at::constant_pad_nd(numbers, {0, fours * 4 - n, 0, 0, 0, vectors * kSums - outputs});
	auto by = whole.reshape({vectors, kSums, height, fours, 4}).permute({2, 3, 0, 1, 4});
	std::vector<Tensor> parts;
	Even panels(vectors, kPanel);
	for (int64_t i = 0; i < panels.parts; i++) {
		parts.push_back(by.narrow(2, panels.first(i), panels.size(i)).flatten());
	}
	return at::cat(parts).reshape({vectors, height, fours, kSums, 4});
}

// Pixels computes direct convolutions, whose images have what stands for zero around already.
void pixels(const Task& t) {
	const auto& k = kernels();
	Even panels((t.outputs + kSums - 1) / kSums, kPanel), pieces(t.pixels(), 96);
	int64_t work = 96 * kPanel * kSums * 4 * t.fours * t.kernel_height;
	at::parallel_for(0, panels.parts * pieces.parts, std::max<int64_t>(1, (1 << 22) / work), [&](int64_t first, int64_t last) {
		for (; first < last; first++) {
			int64_t piece = first / panels.parts, panel = first % panels.parts, at = pieces.first(piece);
			k.direct[panels.size(panel) - 1](t, panels.first(panel), at, at + pieces.size(piece));
		}
	});
}

Tensor direct(const Tensor& x, int64_t x_zero, const Tensor& weight, at::IntArrayRef kernel, const Tensor& start, const Tensor& scale,
              const Tensor& bias, const std::optional<Tensor>& sum, double sum_scale, int64_t sum_zero, at::IntArrayRef stride,
              at::IntArrayRef padding, std::string_view activation, double y_scale, int64_t y_zero, at::ScalarType dtype) {
	Results r{start, scale, bias, activation, y_scale, y_zero, dtype};
	Call c;
	c.take(x, kernel, stride);
	int64_t outputs = start.numel(), n = c.task.channels * c.task.kernel_width, fours = (n + 3) / 4;
	int64_t sizes[] = {(outputs + kSums - 1) / kSums, kernel[0], fours, kSums, 4};
	TORCH_CHECK_VALUE(
	    outputs > 0 && weight.sizes() == at::IntArrayRef(sizes) && weight.scalar_type() == at::kChar && weight.is_contiguous(),
	    "weights of ", weight.sizes(), " do not fit images of ", x.sizes(), " and ", outputs, " outputs");
	c.task.outputs = outputs, c.task.fours = fours, c.task.weight = weight.const_data_ptr<int8_t>();
	c.task.finish = r.finish(outputs);
	c.place(padding);
	c.make(r, outputs);
	c.add(sum, sum_scale, sum_zero);
	if (padding[0] > 0 || padding[1] > 0 || n % 4 > 0) {
		c.pad(padding, x_zero, 1);
	}
	c.task.x = c.x.const_data_ptr<uint8_t>();
	pixels(c.task);
	return c.y;
}

// Rows of numbers, each as an image of one pixel.
Tensor linear(const Tensor& x, int64_t x_zero, const Tensor& weight, const Tensor& start, const Tensor& scale, const Tensor& bias,
              std::string_view activation, double y_scale, int64_t y_zero, at::ScalarType dtype) {
	TORCH_CHECK_VALUE(x.dim() > 0 && x.sizes().back() > 0, "expected rows of numbers, got ", x.sizes());
	auto sizes = x.sizes().vec();
	auto y = direct(x.reshape({x.numel() / sizes.back(), sizes.back(), 1, 1}), x_zero, weight, {1, 1}, start, scale, bias, {}, 0, 0,
	                {1, 1}, {0, 0}, activation, y_scale, y_zero, dtype);
	sizes.back() = y.size(1);
	return y.reshape(sizes);
}

// The channel of each lane, as depthwise has them: as many lanes as make whole pixels and whole vectors, and in each 64 those of four
// neighbours by turns.
Tensor lanes(int64_t channels) {
	kernels();
	TORCH_CHECK_VALUE(channels > 0, "there are no lanes of ", channels, " channels");
	auto all = at::arange(std::lcm(channels, kBytes), at::kLong).remainder(channels);
	return all.reshape({-1, 4, 4, 4}).permute({0, 2, 1, 3}).flatten();
}

// Weights [channels, height * width] with zeros behind, which make fours, for the channels of all lanes: [blocks, fours, 64, 4].
Tensor depthwise_weight(const Tensor& weight) {
	TORCH_CHECK_VALUE(checked("weights", weight, at::kChar, 4).size(1) == 1 && weight.numel() > 0,
	                  "expected weights of one channel for each output, got ", weight.sizes());
	auto all = weight.flatten(1);
	all = at::constant_pad_nd(all, {0, (4 - all.size(1) % 4) % 4}).index_select(0, lanes(weight.size(0)));
	return all.reshape({-1, kBytes, all.size(1) / 4, 4}).permute({0, 2, 1, 3}).contiguous();
}

Tensor depthwise(const Tensor& x, int64_t x_zero, const Tensor& weight, at::IntArrayRef kernel, const Tensor& start, const Tensor& scale,
                 const Tensor& bias, at::IntArrayRef stride, at::IntArrayRef padding, std::string_view activation, double y_scale,
                 int64_t y_zero, at::ScalarType dtype) {
	constexpr int64_t most = 1 << 10;
	Results r{start, scale, bias, activation, y_scale, y_zero, dtype};
	Call c;
	c.take(x, kernel, stride);
	int64_t taps = kernel[0] * kernel[1], fours = (taps + 3) / 4, channels = c.task.channels;
	TORCH_CHECK_VALUE(taps <= most && channels > 0, "there is no kernel of ", kernel, " for images of ", x.sizes());
	int64_t all = std::lcm(channels, kBytes), sizes[] = {all / kBytes, fours, kBytes, 4};
	TORCH_CHECK_VALUE(weight.sizes() == at::IntArrayRef(sizes) && weight.scalar_type() == at::kChar && weight.is_contiguous(),
	                  "weights of ", weight.sizes(), " do not fit images of ", x.sizes());
	c.task.outputs = all, c.task.fours = fours, c.task.weight = weight.const_data_ptr<int8_t>();
	c.task.finish = r.finish(all);
	c.place(padding);
	c.make(r, channels);
	c.pad(padding, x_zero, stride[1]);
	c.task.x = c.x.const_data_ptr<uint8_t>();
	const auto& k = kernels();
	int64_t work = c.task.out_width * channels * taps;
	at::parallel_for(0, c.task.images * c.task.out_height, std::max<int64_t>(1, (1 << 19) / work),
	                 [&](int64_t first, int64_t last) { k.depthwise(c.task, first, last); });
	return c.y;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("direct_uint8_weight(Tensor weight) -> Tensor");
	m.def(
	    "direct_uint8(Tensor x, int x_zero, Tensor weight, int[] kernel, Tensor start, Tensor scale, Tensor bias, Tensor? sum, float "
	    "sum_scale, "
	    "int sum_zero, int[] stride, int[] padding, str activation, float y_scale, int y_zero, ScalarType dtype) -> Tensor");
	m.def(
	    "linear_uint8(Tensor x, int x_zero, Tensor weight, Tensor start, Tensor scale, Tensor bias, str activation, float y_scale, int "
	    "y_zero, "
	    "ScalarType dtype) -> Tensor");
	m.def("depthwise_uint8_lanes(int channels) -> Tensor", lanes);
	m.def("depthwise_uint8_weight(Tensor weight) -> Tensor");
	m.def(
	    "depthwise_uint8(Tensor x, int x_zero, Tensor weight, int[] kernel, Tensor start, Tensor scale, Tensor bias, int[] stride, int[] "
	    "padding, "
	    "str activation, float y_scale, int y_zero, ScalarType dtype) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("direct_uint8_weight", direct_weight);
	m.impl("direct_uint8", direct);
	m.impl("linear_uint8", linear);
	m.impl("depthwise_uint8_weight", depthwise_weight);
	m.impl("depthwise_uint8", depthwise);
}

}  // namespace
}  // namespace tg::uint8
