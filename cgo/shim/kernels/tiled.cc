#include "tiled.h"

#include <ATen/Parallel.h>
#include <torch/library.h>

#include "layers.h"
#include "padding.h"

namespace tg::convolution {
namespace {

using at::Tensor;

// The form of weights that winograd_weight made, or an error.
int checked_form(const Tensor& weight) {
	const int kind = form_of(weight);
	TORCH_CHECK_VALUE(kind >= 0 && weight.size(-1) % (2 * together_of(weight.scalar_type())) == 0, "weights of ", weight.sizes(),
	                  " are not those of winograd_weight");
	return kind;
}

// Whichever of the two is not float32, if one is not.
at::ScalarType narrower(const Tensor& x, const Tensor& weight) {
	return x.scalar_type() == at::kFloat ? weight.scalar_type() : x.scalar_type();
}

}  // namespace

Tiled::Tiled(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, at::IntArrayRef padding, std::string_view activation)
    : form(kForms[checked_form(weight)]),
      kind_(static_cast<int>(&form - kForms)),
      weights_(weight.numel()),
      kernels_(kernels_of(narrower(images(x), weight), weight.size(-1) / together_of(weight.scalar_type()) / 2)) {
	const bool floats = weight.scalar_type() == at::kFloat, alike = weight.scalar_type() == x.scalar_type();
	run_ = (alike ? kernels_.winograd : floats ? kernels_.winograd_float : kernels_.winograd_of_float)[kind_];
	call.dtype = narrower(x, weight);
	check_each("padding", padding, 2, 0, form.kernel() - 1);
	Task& t = call.task;
	t.outputs = weight.size(1) * weight.size(-1) / together_of(weight.scalar_type()), t.activation = activation_of(activation);
	call.take(form.fold == 1 ? x.contiguous(last_channels) : x, weight, bias, weight.scalar_type());
	const int64_t depth = form.depth(t.channels);
	TORCH_CHECK_VALUE(weights_ == form.numbers() * t.outputs * depth && form.fits(t.channels, kernels_.vector), "weights of ",
	                  weight.sizes(), " do not fit images of ", x.sizes());
	t.out_height = outputs_of(t.height, padding[0], form.kernel(), form.stride());
	t.out_width = outputs_of(t.width, padding[1], form.kernel(), form.stride());
	call.fits(t.out_height, t.out_width);
	if (form.fold == 1) {
		t.above = padding[0], t.left = padding[1];
	} else {
		// As many as are seen, and some more below: pixels are read as whole vectors.
		t.height = form.fold * (form.seen(t.out_height) + 1), t.width = form.fold * form.seen(t.out_width);
		call.x = padded(call.x, padding[0], padding[1], t.height, t.width);
	}
	t.x = call.x.const_data_ptr();
}

// As many as keep what they become near, and more, in even blocks, where weights come from afar, since a few tiles that are left over would
// take as many weights.
int64_t Tiled::block(const Task& t) const {
	constexpr int64_t near = 1 << 18, some = 12, many = 48;
	const int64_t threads = at::get_num_threads(), own = std::max<int64_t>(1, (form.tiles(t) + threads - 1) / threads);
	if (weights_ <= near) {
		return own <= some + some / 4 ? own : some;
	}
	return even(own, many);
}

Tensor Tiled::room(int64_t block) const {
	const Task& t = call.task;
	return at::empty({convolution::room(form, block, form.lying(t.channels, kernels_.vector), t.outputs)}, at::kFloat);
}

void Tiled::compute(const Task& t, int64_t first, int64_t last, int64_t block, const Tensor& room) const {
	run_(t, first, last, block, room.mutable_data_ptr<float>());
}

namespace {

Tensor winograd_in(bool in_place, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& sum,
                   at::IntArrayRef padding, std::string_view activation) {
	Tiled tiled(x, weight, bias, padding, activation);
	Task& t = tiled.call.task;
	tiled.call.make(t.out_height, t.out_width, sum, in_place);
	const int64_t block = tiled.block(t);
	at::parallel_for(0, tiled.form.tiles(t), block,
	                 [&](int64_t first, int64_t last) { tiled.compute(t, first, last, block, tiled.room(block)); });
	return tiled.call.y;
}

}  // namespace

Tensor winograd(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& sum,
                at::IntArrayRef padding, std::string_view activation) {
	return winograd_in(false, x, weight, bias, sum, padding, activation);
}

namespace {

Tensor& winograd_(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, Tensor& sum, at::IntArrayRef padding,
                  std::string_view activation) {
	return in_place(sum, winograd_in(true, x, weight, bias, sum, padding, activation));
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("winograd(Tensor x, Tensor weight, Tensor? bias, Tensor? sum, int[] padding, str activation) -> Tensor");
	m.def("winograd_(Tensor x, Tensor weight, Tensor? bias, Tensor(a!) sum, int[] padding, str activation) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("winograd", winograd);
	m.impl("winograd_", winograd_);
}

}  // namespace
}  // namespace tg::convolution
