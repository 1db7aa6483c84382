// A library as others write them: one file, the stable ABI, no knowledge of Go.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

using torch::stable::Tensor;

Tensor scale_add(const Tensor& x, const Tensor& y, double factor) {
	STD_TORCH_CHECK(x.numel() == y.numel(), "x and y differ in size");
	Tensor sum = torch::stable::empty_like(x);
	auto a = static_cast<const float*>(x.const_data_ptr());
	auto b = static_cast<const float*>(y.const_data_ptr());
	auto out = static_cast<float*>(sum.mutable_data_ptr());
	for (int64_t i = 0; i < x.numel(); i++) {
		out[i] = a[i] + static_cast<float>(factor) * b[i];
	}
	return sum;
}

STABLE_TORCH_LIBRARY(thirdparty, m) {
	m.def("scale_add(Tensor x, Tensor y, float factor) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(thirdparty, CPU, m) {
	m.impl("scale_add", TORCH_BOX(&scale_add));
}
