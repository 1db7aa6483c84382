// Numbers that stand for one of a few things: kernels compute nothing for others.
#include "rules.h"

namespace tg::rule {

void reduction(int64_t mode) {
	TORCH_CHECK_VALUE(mode >= 0 && mode <= 2, "reduction has to be 0 (none), 1 (mean) or 2 (sum), but got ", mode);
}

void sampler(int64_t interpolation, int64_t padding) {
	TORCH_CHECK_VALUE(interpolation >= 0 && interpolation <= 2, "interpolation_mode has to be 0 (bilinear), 1 (nearest) or 2 (bicubic), but got ",
	                  interpolation);
	TORCH_CHECK_VALUE(padding >= 0 && padding <= 2, "padding_mode has to be 0 (zeros), 1 (border) or 2 (reflection), but got ", padding);
}

// Numbers in tensors of one element.
void one(const Tensor& scale, const Tensor& zero) {
	for (const auto* t : {&scale, &zero}) {
		bool number = has(*t) && t->layout() == at::kStrided && t->numel() == 1 && !t->is_quantized() && !t->is_complex();
		TORCH_CHECK(number, "expected scale and zero_point to be tensors of one real number each");
	}
}

}  // namespace tg::rule
