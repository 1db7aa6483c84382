// Layers whose kernels trust in one number for each channel.
#include "rules.h"

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

// A grouped query has groups: libtorch divides by their number.
void heads(const Tensor& key, const Tensor& value, bool grouped) {
	if (!grouped || !has(key) || !has(value) || key.dim() < 3 || value.dim() < 3) {
		return;
	}
	TORCH_CHECK(key.size(-3) != 0 && value.size(-3) != 0, "Expected key and value to have at least one head with enable_gqa, but got ", key.size(-3),
	            " and ", value.size(-3));
}

}  // namespace tg::rule
