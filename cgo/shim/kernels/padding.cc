#include "padding.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "call.h"

namespace tg::convolution {

using at::Tensor;

Padding::Padding(const Tensor& x, int64_t above, int64_t left, int64_t width)
    : x_(x), above_(above), left_(left), all_width_(width), channels_(x.size(1)), width_(std::min(x.size(3), width - left)) {
	constexpr int64_t few = 4;
	lies_ = x.stride(1) == 1 && (width_ == 1 || x.stride(3) == channels_);
	kernels_ = any_kernels(x.scalar_type());
	processor_ = x.stride(3) == 1 && channels_ > few && x.scalar_type() == at::kFloat ? best_processor() : nullptr;
}

void Padding::lay_out(const void* from, void* to) const {
	const int64_t apart = x_.stride(1);
	if (lies_) {
		memcpy(to, from, width_ * channels_ * x_.element_size());
	} else if (processor_ != nullptr) {
		processor_->turn(static_cast<const float*>(from), apart, channels_, width_, static_cast<float*>(to), channels_, false);
	} else {
		kernels_->interleave(from, apart, x_.stride(3), width_, channels_, to);
	}
}

void Padding::rows(int64_t image, int64_t first, int64_t count, void* to) const {
	const int64_t before = left_ * channels_, own = width_ * channels_, after = row() - before - own, size = x_.element_size();
	for (int64_t y = first - above_; y < first - above_ + count; y++, to = behind(to, row(), x_)) {
		if (y < 0 || y >= x_.size(2)) {
			memset(to, 0, row() * size);
			continue;
		}
		memset(to, 0, before * size);
		lay_out(behind(x_.const_data_ptr(), image * x_.stride(0) + y * x_.stride(2), x_), behind(to, before, x_));
		memset(behind(to, before + own, x_), 0, after * size);
	}
}

Tensor padded(const Tensor& x, int64_t above, int64_t left, int64_t height, int64_t width) {
	auto all = at::empty({x.size(0), x.size(1), height, width}, x.options(), last_channels);
	const Padding padding(x, above, left, width);
	for (int64_t i = 0; i < x.size(0); i++) {
		padding.rows(i, 0, height, behind(all.mutable_data_ptr(), i * height * padding.row(), x));
	}
	return all;
}

bool lie_padded(const Tensor& x, int64_t above, int64_t left) { return above == 0 && left == 0 && x.is_contiguous(last_channels); }

Tensor padded(const Tensor& x, int64_t above, int64_t left) {
	if (lie_padded(x, above, left)) {
		return x;
	}
	return padded(x, above, left, x.size(2) + 2 * above, x.size(3) + 2 * left);
}

}  // namespace tg::convolution
