#include "weights.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "processor.h"
#include "rounding.h"

namespace tg::convolution {
namespace {

using at::Tensor;
using processor::abilities;

bool runs(const Processor& p) { return &p == &avx512 ? abilities().avx512 : abilities().avx2; }

// Where there are tiles, oneDNN computes bfloat16 with them.
bool computes_bfloat16() { return bfloat16 != nullptr && abilities().bfloat16 && !abilities().tiles; }

std::vector<const Kernels*> found(at::ScalarType dtype) {
	std::vector<const Kernels*> all;
	if (dtype == at::kBFloat16 && computes_bfloat16()) {
		all.push_back(bfloat16);
	}
	for (const auto* p : {&avx512, &avx2}) {
		if (dtype == at::kFloat && runs(*p)) {
			all.push_back(&p->images);
		}
	}
	return all;
}

// The kernels of this processor for a dtype, the widest vectors first.
const std::vector<const Kernels*>& kernels(at::ScalarType dtype) {
	static const std::vector<const Kernels*> floats = found(at::kFloat), halves = found(at::kBFloat16), none;
	return dtype == at::kFloat ? floats : dtype == at::kBFloat16 ? halves : none;
}

const Tensor& checked(const Tensor& weight) {
	TORCH_CHECK_VALUE(images(weight).numel() > 0, "expected weights of images, got ", weight.sizes());
	return weight;
}

// The width of the widest panels that this processor has for so many channels and outputs.
int64_t winograd_width(const Form& form, at::ScalarType dtype, int64_t channels, int64_t outputs) {
	for (const auto* k : kernels(dtype)) {
		if (outputs % (2 * k->vector) == 0 && form.fits(channels, k->vector)) {
			return 2 * k->vector;
		}
	}
	TORCH_CHECK_NOT_IMPLEMENTED(false, "this processor has no kernel for ", channels, " channels and ", outputs, " outputs of ", dtype);
}

// What a row of weights becomes: the values of its polynomial at the points, over the products of their distances, and the last weight, its
// value at infinity. With steps of two each weight stays what it is, or meets the one after the next.
std::vector<std::vector<double>> evaluation(const Form& form, int tile) {
	if (form.step == 2) {
		return {{1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}};
	}
	std::vector<double> points{0, 1, -1};
	if (tile > 2) {
		points = {0, kNear, -kNear, kFar, -kFar};
	}
	std::vector<std::vector<double>> rows;
	for (double p : points) {
		double distances = 1;
		for (double other : points) {
			distances *= p == other ? 1 : p - other;
		}
		std::vector<double> row;
		for (double power = 1; static_cast<int>(row.size()) < form.taps; power *= p) {
			row.push_back(power / distances);
		}
		rows.push_back(row);
	}
	rows.emplace_back(form.taps);
	rows.back().back() = 1;
	return rows;
}

// Weights as they meet images folded for a form: [outputs, depth, taps, taps].
Tensor folded(const Tensor& weight, const Form& form) {
	const int64_t outputs = weight.size(0), channels = weight.size(1), taps = form.taps, fold = form.fold, more = taps * fold - form.kernel();
	auto whole = at::constant_pad_nd(weight, {0, more, 0, more}).reshape({outputs, channels, taps, fold, taps, fold});
	return whole.permute({0, 3, 5, 1, 2, 4}).reshape({outputs, form.depth(channels), taps, taps});
}

}  // namespace

const Processor& processor_of(int64_t vector) {
	for (const auto* p : {&avx512, &avx2}) {
		if (p->images.vector == vector && runs(*p)) {
			return *p;
		}
	}
	TORCH_CHECK_VALUE(false, "this processor has no vectors of ", vector);
}

const Processor* best_processor() { return runs(avx512) ? &avx512 : runs(avx2) ? &avx2 : nullptr; }

const Kernels& kernels_of(at::ScalarType dtype, int64_t vector) {
	for (const auto* k : kernels(dtype)) {
		if (k->vector == vector) {
			return *k;
		}
	}
	TORCH_CHECK_VALUE(false, "this processor has no kernel for weights of ", dtype, " in vectors of ", vector);
}

const Kernels& kernels_for(at::ScalarType dtype, int64_t outputs) {
	const auto& all = kernels(dtype);
	TORCH_CHECK_NOT_IMPLEMENTED(!all.empty(), "this processor has no kernel for ", dtype);
	return outputs > avx2.images.vector ? *all.front() : *all.back();
}

const Kernels* any_kernels(at::ScalarType dtype) {
	const auto& all = kernels(dtype);
	return all.empty() ? nullptr : all.front();
}

const Tensor& images(const Tensor& x) {
	bool has = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
	TORCH_CHECK_VALUE(x.dim() == 4 && has, "expected images of float32 or bfloat16, got ", x.sizes(), " of ", x.scalar_type());
	return x;
}

bool multiplies_wide() { return abilities().wide; }

bool bfloat16_is_faster() { return abilities().fast_bfloat16; }

int form_of(const Tensor& weight) {
	auto made = [&](const Form& f) { return weight.dim() == (f.fold == 1 ? 4 : 5) && weight.size(0) == f.numbers(); };
	const auto* found = std::find_if(std::begin(kForms), std::end(kForms), made);
	return found == std::end(kForms) ? -1 : static_cast<int>(found - kForms);
}

Tensor winograd_weight(const Tensor& weight, at::IntArrayRef tile, int64_t step, bool wide, at::ScalarType dtype) {
	auto same = [&](const Form& f) { return tile.size() == 2 && f.down == tile[0] && f.across == tile[1] && f.stride() == step; };
	const auto* form = std::find_if(std::begin(kForms), std::end(kForms), same);
	TORCH_CHECK_VALUE(form != std::end(kForms), "there is no form of tiles of ", tile, " outputs with steps of ", step);
	const int side = form->kernel(), taps = form->taps;
	TORCH_CHECK_VALUE(checked(weight).size(2) == side && weight.size(3) == side, "expected weights of ", side, " x ", side, ", got ",
	                  weight.sizes());
	int64_t outputs = weight.size(0), channels = form->depth(weight.size(1));
	int64_t width = winograd_width(*form, dtype, weight.size(1), outputs);
	auto down = evaluation(*form, form->down), across = evaluation(*form, form->across);
	const int64_t numbers = form->numbers();
	const int columns = form->columns();
	auto from = folded(weight, *form).to(at::kFloat).contiguous();
	auto to = at::empty({numbers, outputs / width, channels, width}, at::kFloat);
	const float* w = from.const_data_ptr<float>();
	float* out = to.mutable_data_ptr<float>();
	at::parallel_for(0, outputs * channels, 1 << 10, [&](int64_t first, int64_t last) {
		for (int64_t own = first; own < last; own++) {
			int64_t k = own / channels, c = own % channels;
			for (int i = 0; i < numbers; i++) {
				const int row = i / columns, column = i % columns, group = form->group(row), beside = form->group(column);
				const int64_t first = form->first(group, beside), parts = form->parts(group, beside);
				double sum = 0;
				for (int at = 0; at < taps * taps; at++) {
					sum += down[row][at / taps] * w[own * taps * taps + at] * across[column][at % taps];
				}
				const int64_t panel = first * (outputs / width) + k / width * parts + form->place(row, column) - first;
				out[(panel * channels + c) * width + k % width] = static_cast<float>(sum);
			}
		}
	});
	if (!wide && dtype != at::kFloat) {
		const int64_t two = together_of(dtype);
		auto rows = balanced(to.transpose(2, 3).flatten(0, 2), dtype).reshape({numbers, outputs / width, width, channels / two, two});
		to = rows.transpose(2, 3).reshape({numbers, outputs / width, channels / two, width * two});
	}
	return form->fold == 1 ? to : to.unflatten(2, {form->fold, -1});
}

// The sums of a vector of direct convolutions. Vectors half as long multiply as much where the others do it in two halves, and leave fewer
// places empty.
int64_t direct_vector(at::ScalarType dtype, int64_t outputs) {
	constexpr int64_t many = 256;
	int64_t vector = kernels_for(dtype, outputs).vector, narrow = kernels(dtype).back()->vector;
	return !multiplies_wide() && outputs < many && whole(outputs, narrow) < whole(outputs, vector) ? narrow : vector;
}

Tensor direct_weight(const Tensor& weight) {
	int64_t outputs = checked(weight).size(0), channels = weight.size(1), height = weight.size(2), width = weight.size(3);
	int64_t vector = direct_vector(weight.scalar_type(), outputs), two = together_of(weight.scalar_type());
	int64_t numbers = width * channels, places = whole(numbers, two) / two;
	Panels panels{(outputs + vector - 1) / vector};
	auto rows = weight.permute({0, 2, 3, 1}).reshape({outputs, height, numbers});
	auto all = at::constant_pad_nd(rows, {0, places * two - numbers, 0, 0, 0, panels.vectors * vector - outputs});
	auto vectors = all.reshape({panels.vectors, vector, height, places, two}).permute({2, 3, 0, 1, 4});
	std::vector<Tensor> parts;
	for (int64_t i = 0; i < panels.count(); i++) {
		parts.push_back(vectors.narrow(2, panels.first(i), panels.size(i)).flatten());
	}
	return at::cat(parts).reshape({panels.vectors, height, places, vector * two});
}

Tensor depthwise_weight(const Tensor& weight) {
	TORCH_CHECK_VALUE(checked(weight).size(1) == 1, "expected weights of one channel for each output, got ", weight.sizes());
	kernels_for(weight.scalar_type(), weight.size(0));
	return weight.select(1, 0).permute({1, 2, 0}).contiguous();
}

}  // namespace tg::convolution
