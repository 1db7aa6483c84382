// Layers whose kernels trust in one number for each channel.
#include "rules.h"

#include <ATen/core/Reduction.h>

namespace tg::rule {

// Statistics and weights are one for each channel.
void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& variance, bool training) {
	if (!has(input) || input.dim() < 2) {
		return;
	}
	auto channels = input.size(1);
	auto check = [&](const char* name, const Tensor& t, bool needed) {
		TORCH_CHECK(t.defined() || !needed, name, " must be defined in evaluation mode");
		TORCH_CHECK(!has(t) || t.numel() == channels, name, " should contain ", channels, " elements not ", t.numel());
	};
	check("weight", weight, false);
	check("bias", bias, false);
	check("running_mean", mean, !training);
	check("running_var", variance, !training);
}

// The gradient divides by the number of elements.
void empty_statistics(const Tensor& input, const Tensor& weight, const Tensor& bias) {
	TORCH_CHECK(!has(input) || input.numel() > 0 || !(recorded(input) || recorded(weight) || recorded(bias)),
	            "input tensor must have at least one element, but got input_sizes = ", input.sizes());
}

// The fused kernel scales each slice of v along dim by one element of g.
void weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
	if (!has(v) || !has(g) || (dim != 0 && dim != v.dim() - 1) || v.dim() == 0) {
		return;
	}
	TORCH_CHECK(v.numel() > 0, "expected v to have elements, but got one of size ", v.sizes());
	TORCH_CHECK(g.numel() == v.size(dim), "expected g to have ", v.size(dim), " elements, one for each slice of v along dimension ", dim, ", but got ", g.numel());
}

// A value belongs to each key, and a grouped query has groups: libtorch divides by their number.
void attention(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped) {
	if (!has(key) || !has(value) || key.dim() < 2 || value.dim() < 2) {
		return;
	}
	// The result is laid out as the query: its last dimension has to stay the last in memory.
	for (int64_t d = 0; has(query) && d < query.dim() - 1; d++) {
		TORCH_CHECK(query.size(d) < 2 || query.stride(d) != 1 || query.size(-1) < 2 || query.stride(-1) != 1, "expected a query whose elements do not overlap, but got one of size ",
		            query.sizes(), " and strides ", query.strides(), "; Contiguous copies it");
	}
	TORCH_CHECK(key.size(-2) == value.size(-2), "Expected as many values as keys, but got ", value.size(-2), " and ", key.size(-2));
	if (grouped && key.dim() >= 3 && value.dim() >= 3) {
		TORCH_CHECK(key.size(-3) != 0 && value.size(-3) != 0, "Expected key and value to have at least one head with enable_gqa, but got ", key.size(-3),
		            " and ", value.size(-3));
	}
}

}  // namespace tg::rule
