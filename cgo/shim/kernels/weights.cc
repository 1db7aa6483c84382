#include "weights.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <array>
#include <vector>

namespace tg::convolution {
namespace {

using at::Tensor;

bool runs(const Kernels& k) {
#if defined(__x86_64__)
	return &k == &avx512 ? __builtin_cpu_supports("avx512f") : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

const Tensor& checked(const Tensor& weight) {
	TORCH_CHECK_VALUE(weight.dim() == 4 && weight.scalar_type() == at::kFloat && weight.numel() > 0,
	                  "expected float32 weights of images, got ", weight.sizes(), " of ", weight.scalar_type());
	return weight;
}

// The width of the widest panels that this processor has for so many channels and outputs.
int64_t winograd_width(int64_t channels, int64_t outputs) {
	for (const auto* k : {&avx512, &avx2}) {
		if (runs(*k) && outputs % (2 * k->vector) == 0 && channels % k->vector == 0) {
			return 2 * k->vector;
		}
	}
	TORCH_CHECK_NOT_IMPLEMENTED(false, "this processor has no kernel for ", channels, " channels and ", outputs, " outputs");
}

// What a row of three weights becomes: the values of its polynomial at the points, over the products of their distances, and the last
// weight, its value at infinity.
std::vector<std::array<double, 3>> evaluation(int64_t tile) {
	std::vector<double> points{0, 1, -1};
	if (tile == 4) {
		points = {0, kNear, -kNear, kFar, -kFar};
	}
	std::vector<std::array<double, 3>> rows;
	for (double p : points) {
		double distances = 1;
		for (double other : points) {
			distances *= p == other ? 1 : p - other;
		}
		rows.push_back({1 / distances, p / distances, p * p / distances});
	}
	rows.push_back({0, 0, 1});
	return rows;
}

}  // namespace

const Kernels& kernels_of(int64_t vector) {
	const Kernels* k = vector == avx512.vector ? &avx512 : vector == avx2.vector ? &avx2 : nullptr;
	TORCH_CHECK_VALUE(k && runs(*k), "this processor has no kernel for weights in vectors of ", vector);
	return *k;
}

const Kernels* best_kernels() { return runs(avx512) ? &avx512 : runs(avx2) ? &avx2 : nullptr; }

const Kernels& kernels_for(int64_t outputs) {
	for (const auto* k : {&avx512, &avx2}) {
		if (runs(*k) && (k == &avx2 || outputs > avx2.vector)) {
			return *k;
		}
	}
	TORCH_CHECK_NOT_IMPLEMENTED(false, "this processor has no kernel");
}

// Tiles (AMX) take many times as many numbers of bfloat16 as vectors take of float32, and AMD's vectors twice as many. With Intel's vectors
// bfloat16 took twice as long as float32 where it was measured (bench/README.md).
bool bfloat16_is_faster() {
#if defined(__x86_64__)
	return __builtin_cpu_supports("amx-bf16") || (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512bf16"));
#else
	return true;  // wherever libtorch has instructions for it
#endif
}

Tensor winograd_weight(const Tensor& weight, int64_t tile) {
	TORCH_CHECK_VALUE(tile == 2 || tile == 4, "tiles of ", tile, " outputs, expected 2 or 4");
	TORCH_CHECK_VALUE(checked(weight).size(2) == 3 && weight.size(3) == 3, "expected weights of 3 x 3, got ", weight.sizes());
	int64_t outputs = weight.size(0), channels = weight.size(1);
	int64_t width = winograd_width(channels, outputs);
	auto rows = evaluation(tile);
	int64_t side = tile + 2;
	auto from = weight.contiguous();
	auto to = at::empty({side * side, outputs / width, channels, width}, at::kFloat);
	const float* w = from.const_data_ptr<float>();
	float* out = to.mutable_data_ptr<float>();
	at::parallel_for(0, outputs * channels, 1 << 10, [&](int64_t first, int64_t last) {
		for (int64_t own = first; own < last; own++) {
			int64_t k = own / channels, c = own % channels;
			for (int64_t i = 0; i < side * side; i++) {
				double sum = 0;
				for (int64_t at = 0; at < 9; at++) {
					sum += rows[i / side][at / 3] * w[own * 9 + at] * rows[i % side][at % 3];
				}
				out[((i * (outputs / width) + k / width) * channels + c) * width + k % width] = static_cast<float>(sum);
			}
		}
	});
	return to;
}

Tensor direct_weight(const Tensor& weight) {
	int64_t outputs = checked(weight).size(0), channels = weight.size(1), height = weight.size(2), width = weight.size(3);
	int64_t vector = kernels_for(outputs).vector;
	Panels panels{(outputs + vector - 1) / vector};
	auto whole = at::constant_pad_nd(weight, {0, 0, 0, 0, 0, 0, 0, panels.vectors * vector - outputs});
	auto vectors = whole.reshape({panels.vectors, vector, channels, height, width}).permute({3, 4, 2, 0, 1});
	std::vector<Tensor> parts;
	for (int64_t i = 0; i < panels.count(); i++) {
		parts.push_back(vectors.narrow(3, panels.first(i), panels.size(i)).flatten());
	}
	return at::cat(parts).reshape({panels.vectors, height, width, channels, vector});
}

Tensor depthwise_weight(const Tensor& weight) {
	TORCH_CHECK_VALUE(checked(weight).size(1) == 1, "expected weights of one channel for each output, got ", weight.sizes());
	kernels_for(weight.size(0));
	return weight.select(1, 0).permute({1, 2, 0}).contiguous();
}

}  // namespace tg::convolution
