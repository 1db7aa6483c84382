#include "convolution.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

#include "call.h"
#include "layers.h"
#include "padding.h"
#include "weights.h"

namespace tg::convolution {

void check_each(const char* what, at::IntArrayRef n, size_t count, int64_t low, int64_t high) {
	bool fits = n.size() == count && std::all_of(n.begin(), n.end(), [&](int64_t i) { return i >= low && i <= high; });
	TORCH_CHECK_VALUE(fits, what, " is ", n, ", expected ", count, " numbers from ", low, " to ", high);
}

Activation activation_of(std::string_view name) {
	constexpr std::string_view names[] = {"none", "relu", "relu6", "hardswish", "hardsigmoid", "swish", "sigmoid", "gelu", "gelu_tanh"};
	auto found = std::find(std::begin(names), std::end(names), name);
	TORCH_CHECK_VALUE(found != std::end(names), "there is no activation ", name);
	return static_cast<Activation>(found - std::begin(names));
}

int64_t outputs_of(int64_t size, int64_t padding, int64_t kernel, int64_t stride) {
	int64_t room = size + 2 * padding - kernel;
	return room < 0 ? 0 : room / stride + 1;
}

namespace {

using at::Tensor;

// Signals [count, channels, length] are images of one row, or of one column where the kernel is one.
struct Signals {
	int64_t side;

	explicit Signals(at::IntArrayRef kernel) : side(!kernel.empty() && kernel[0] == 1 ? 2 : 3) {}

	Tensor images(const Tensor& x) const { return x.unsqueeze(side); }
	std::optional<Tensor> images(const std::optional<Tensor>& x) const { return x && x->dim() == 3 ? x->unsqueeze(side) : x; }

	Tensor signals(const Tensor& images) const { return images.squeeze(side); }
};

}  // namespace

void pixels(const Task& t, const Tensor& weight) {
	const auto& k = panels_of(weight);
	const Panels panels{weight.size(0)};
	const int64_t all = t.pixels(), count = panels.count();
	if (all == 0 || all > kFewRows) {
		return in_pieces(all, count, weight.numel(), [&](int64_t panel, int64_t first, int64_t last) {
			k.direct[panels.size(panel) - 1](t, panels.first(panel), first, last);
		});
	}
	at::parallel_for(0, count, share_of(all, weight.numel() / count), [&](int64_t panel, int64_t last) {
		Task some = t;
		for (; panel < last; panel += some.panels) {
			some.panels = panels.at_once(panel, last, all, k.vector);
			k.direct[panels.size(panel) - 1](some, panels.first(panel), 0, all);
		}
	});
}

namespace {

// Computes direct convolutions of images without the zeros around. Large ones are laid out with them some rows at a time, which are near still
// when they are read, and enough for a piece of pixels or more.
void pixels_around(const Tensor& x, at::IntArrayRef padding, Task t, const Tensor& weight, const Tensor& y) {
	constexpr int64_t near = 1 << 15;
	t.height += 2 * padding[0], t.width += 2 * padding[1];
	const Padding laid_out(x, padding[0], padding[1], t.width);
	const int64_t row = laid_out.row(), seen = t.apart * (t.kernel_height - 1) + 1;
	const int64_t some = std::max((near / row - seen) / t.down + 1, (kPiece + t.out_width - 1) / t.out_width);
	const int64_t band = even(t.out_height, some), bands = (t.out_height + band - 1) / band;
	if (lie_padded(x, padding[0], padding[1]) || t.height * row <= near || bands == 1 || t.images * bands < at::get_num_threads()) {
		auto from = padded(x, padding[0], padding[1]);
		t.x = from.const_data_ptr();
		return pixels(t, weight);
	}
	at::parallel_for(0, t.images * bands, 1, [&](int64_t first, int64_t last) {
		auto room = at::empty({(band - 1) * t.down + seen, row}, x.options());
		for (; first < last; first++) {
			const int64_t image = first / bands, top = first % bands * band, bottom = std::min(top + band, t.out_height);
			Task part = t;
			part.images = 1, part.out_height = bottom - top, part.height = (part.out_height - 1) * t.down + seen;
			laid_out.rows(image, top * t.down, part.height, room.mutable_data_ptr());
			part.x = room.const_data_ptr();
			const int64_t place = (image * t.out_height + top) * t.out_width * t.outputs;
			part.y = behind(t.y, place, y);
			if (t.sum != nullptr) {
				part.sum = behind(t.sum, place, y);
			}
			pixels(part, weight);
		}
	});
}

// Where results come to lie: in memory of their own, as the images are or as float32, or in that of the sum.
enum class Into : uint8_t { own, floats, sum };

Tensor direct_in(Into into, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                 const std::optional<Tensor>& sum, int64_t outputs, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                 int64_t dilation, std::string_view activation) {
	if (x.dim() == 3) {
		const Signals one(kernel);
		auto y = direct_in(into, one.images(x), weight, bias, one.images(sum), outputs, kernel, stride, padding, dilation, activation);
		return one.signals(y);
	}
	Call c;
	c.panels(weight, outputs, kernel);
	TORCH_CHECK_VALUE(dilation >= 1 && dilation <= kMost, "rows of a kernel are one or more apart, not ", dilation);
	c.task.activation = activation_of(activation), c.task.apart = dilation;
	c.step(stride, padding);
	c.take(x, weight, bias);
	c.fit(weight);
	if (into == Into::floats) {
		c.dtype = at::kFloat, c.task.wide = true;
	}
	c.make(outputs_of(c.task.height, padding[0], dilation * (kernel[0] - 1) + 1, stride[0]),
	       outputs_of(c.task.width, padding[1], kernel[1], stride[1]), sum, into == Into::sum);
	pixels_around(x, padding, c.task, weight, c.y);
	return c.y;
}

}  // namespace

Tensor direct(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& sum, int64_t outputs,
              at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, int64_t dilation, std::string_view activation) {
	return direct_in(Into::own, x, weight, bias, sum, outputs, kernel, stride, padding, dilation, activation);
}

namespace {

Tensor& direct_(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, Tensor& sum, int64_t outputs, at::IntArrayRef kernel,
                at::IntArrayRef stride, at::IntArrayRef padding, int64_t dilation, std::string_view activation) {
	return in_place(sum, direct_in(Into::sum, x, weight, bias, sum, outputs, kernel, stride, padding, dilation, activation));
}

// A linear layer is a convolution of images of one pixel.
template <class Run>
Tensor linear_in(const Tensor& x, int64_t outputs, const Run& run) {
	TORCH_CHECK_VALUE(x.dim() > 0 && x.size(-1) > 0, "expected rows of numbers, got ", x.sizes());
	auto sizes = x.sizes().vec();
	auto rows = x.contiguous().view({x.numel() / sizes.back(), sizes.back(), 1, 1});
	sizes.back() = outputs;
	return run(rows).view(sizes);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, int64_t outputs, const std::optional<Tensor>& bias, std::string_view activation) {
	return linear_in(x, outputs, [&](const Tensor& rows) {
		return direct(rows, weight, bias, {}, outputs, {1, 1}, {1, 1}, {0, 0}, 1, activation);
	});
}

namespace {

// The same whose results are float32, whatever is multiplied, and without an activation, or with ReLU alone.
Tensor direct_wide(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, int64_t outputs, at::IntArrayRef kernel,
                   at::IntArrayRef stride, at::IntArrayRef padding, int64_t dilation, std::string_view activation) {
	TORCH_CHECK_VALUE(activation == "none" || activation == "relu", "expected no activation or relu, got ", activation);
	return direct_in(Into::floats, x, weight, bias, {}, outputs, kernel, stride, padding, dilation, activation);
}

Tensor linear_wide(const Tensor& x, const Tensor& weight, int64_t outputs, const std::optional<Tensor>& bias) {
	return linear_in(x, outputs, [&](const Tensor& rows) {
		return direct_wide(rows, weight, bias, outputs, {1, 1}, {1, 1}, {0, 0}, 1, "none");
	});
}

// The kernel of each channel by itself, as depthwise_weight made it.
void kernel_of_each(Call& c, const Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding, std::string_view activation) {
	TORCH_CHECK_VALUE(weight.dim() == 3 && weight.numel() > 0, "weights of ", weight.sizes(), " are not those of depthwise_weight");
	c.task.outputs = weight.size(2), c.task.activation = activation_of(activation);
	c.task.kernel_height = weight.size(0), c.task.kernel_width = weight.size(1);
	c.step(stride, padding);
	c.task.above = padding[0], c.task.left = padding[1];
}

Tensor depthwise(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& sum,
                 at::IntArrayRef stride, at::IntArrayRef padding, std::string_view activation) {
	if (x.dim() == 3) {
		const Signals one(weight.sizes());
		return one.signals(depthwise(one.images(x), weight, bias, one.images(sum), stride, padding, activation));
	}
	Call c;
	kernel_of_each(c, weight, stride, padding, activation);
	c.take(x.contiguous(last_channels), weight, bias);
	TORCH_CHECK_VALUE(weight.size(2) == c.task.channels, "weights of ", weight.sizes(), " do not fit images of ", x.sizes());
	c.task.x = c.x.const_data_ptr();
	c.make(outputs_of(c.task.height, padding[0], weight.size(0), stride[0]), outputs_of(c.task.width, padding[1], weight.size(1), stride[1]),
	       sum);
	const auto& k = kernels_for(x.scalar_type(), weight.size(2));
	int64_t work = c.task.out_width * weight.numel();
	at::parallel_for(0, c.task.images * c.task.out_height, std::max<int64_t>(1, (1 << 18) / work),
	                 [&](int64_t first, int64_t last) { k.depthwise(c.task, first, last); });
	return c.y;
}

// Pair is a direct convolution of 1 x 1, wide, and one of each channel by itself behind it, which sees some rows of the first at a time: the
// others would leave the cache and come back. Each vector of channels has its rows by itself, which are read one after the other.
struct Pair {
	const Task &wide, &each;
	const Tensor& weight;  // the wide one's
	const Kernels& kernels;
	int64_t row, apart;  // the numbers of a vector's row, and from a vector to the next
	Tensor room;
	int64_t image = -1, top = 0, bottom = 0;  // the rows that are there

	Pair(const Task& w, const Task& e, const Tensor& by, int64_t rows)
	    : wide(w), each(e), weight(by), kernels(panels_of(by)), row(w.out_width * kernels.vector), apart(rows * row),
	      room(at::empty({by.size(0), rows, row}, by.options())) {}

	// Rows of the outputs of an image, one after the other.
	void run(int64_t own, int64_t first, int64_t last) {
		const Seen seen(each, wide.height, first, last);
		int64_t kept = own == image && seen.from >= top && seen.from < bottom ? bottom - seen.from : 0;
		void* rows = room.mutable_data_ptr();
		for (int64_t v = 0; kept > 0 && v < weight.size(0); v++) {
			void* begin = behind(rows, v * apart, room);
			memmove(begin, behind(begin, (seen.from - top) * row, room), kept * row * room.element_size());
		}
		image = own, top = seen.from, bottom = seen.to;
		compute(seen.from + kept, seen.to, behind(rows, kept * row, room));
		Task t = seen.task(each, image, room);
		t.x = rows, t.apart_vectors = apart;
		kernels.depthwise(t, 0, t.out_height);
	}

	void compute(int64_t first, int64_t last, void* to) const {
		Task t = wide;
		t.images = 1, t.height = t.out_height = last - first, t.y = to, t.apart_vectors = apart;
		t.x = behind(t.x, (image * wide.height + first) * wide.width * wide.channels, room);
		pixels(t, weight);
	}
};

Tensor direct_depthwise(const Tensor& x, const Tensor& weight, int64_t outputs, const std::optional<Tensor>& bias,
                        std::string_view activation, const Tensor& each, const std::optional<Tensor>& each_bias, at::IntArrayRef stride,
                        at::IntArrayRef padding, std::string_view each_activation) {
	Call wide, c;
	wide.panels(weight, outputs, {1, 1});
	wide.task.activation = activation_of(activation);
	wide.take(x, weight, bias);
	wide.fit(weight);
	auto from = padded(x, 0, 0);
	wide.task.x = from.const_data_ptr();
	wide.task.out_height = wide.task.height, wide.task.out_width = wide.task.width;
	kernel_of_each(c, each, stride, padding, each_activation);
	TORCH_CHECK_VALUE(each.size(2) == outputs, "weights of ", each.sizes(), " do not fit ", outputs, " channels");
	c.take(wide.x, each, each_bias);
	c.task.channels = outputs;
	c.make(outputs_of(c.task.height, padding[0], each.size(0), stride[0]), outputs_of(c.task.width, padding[1], each.size(1), stride[1]), {});
	// So many rows stay near.
	constexpr int64_t near = 1 << 16;
	int64_t some = near / std::max<int64_t>(1, c.task.width * outputs), height = c.task.out_height;
	int64_t band = std::max<int64_t>(0, some - each.size(0)) / stride[0] + 1;
	in_bands(c.task.images, height, band, [&] { return Pair(wide.task, c.task, weight, (band - 1) * stride[0] + each.size(0)); });
	return c.y;
}

TORCH_LIBRARY(libtorchgo, m) {
	m.def("bfloat16_is_faster() -> bool", bfloat16_is_faster);
	m.def("multiplies_wide() -> bool", multiplies_wide);
	m.def("winograd_weight(Tensor weight, int[2] tile, int step, bool wide, ScalarType dtype) -> Tensor");
	m.def("direct_weight(Tensor weight) -> Tensor");
	m.def("direct(Tensor x, Tensor weight, Tensor? bias, Tensor? sum, int outputs, int[] kernel, int[] stride, int[] padding, "
	      "int dilation, str activation) -> Tensor");
	m.def("direct_(Tensor x, Tensor weight, Tensor? bias, Tensor(a!) sum, int outputs, int[] kernel, int[] stride, int[] padding, "
	      "int dilation, str activation) -> Tensor(a!)");
	m.def("linear(Tensor x, Tensor weight, int outputs, Tensor? bias, str activation) -> Tensor");
	m.def("direct_wide(Tensor x, Tensor weight, Tensor? bias, int outputs, int[] kernel, int[] stride, int[] padding, int dilation, "
	      "str activation) -> Tensor");
	m.def("linear_wide(Tensor x, Tensor weight, int outputs, Tensor? bias) -> Tensor");
	m.def("depthwise_weight(Tensor weight) -> Tensor");
	m.def("depthwise(Tensor x, Tensor weight, Tensor? bias, Tensor? sum, int[] stride, int[] padding, str activation) -> Tensor");
	m.def("direct_depthwise(Tensor x, Tensor weight, int outputs, Tensor? bias, str activation, Tensor each, Tensor? each_bias, "
	      "int[] stride, int[] padding, str each_activation) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("winograd_weight", winograd_weight);
	m.impl("direct_weight", direct_weight);
	m.impl("direct", direct);
	m.impl("direct_", direct_);
	m.impl("linear", linear);
	m.impl("direct_wide", direct_wide);
	m.impl("linear_wide", linear_wide);
	m.impl("depthwise_weight", depthwise_weight);
	m.impl("depthwise", depthwise);
	m.impl("direct_depthwise", direct_depthwise);
}

}  // namespace
}  // namespace tg::convolution
