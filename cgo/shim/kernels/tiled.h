// Convolutions by Winograd's tiles, whose arguments were checked.
#pragma once

#include "call.h"

namespace tg::convolution {

// Weights are of the dtype of the images, or float32. With images of float32 and weights of bfloat16 the results are bfloat16.
struct Tiled {
	Call call;  // its task lacks y
	const Form& form;

	Tiled(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias, at::IntArrayRef padding,
	      std::string_view activation);

	// The number of tiles of a task that are computed together, and room for them.
	int64_t block(const Task& t) const;
	at::Tensor room(int64_t block) const;

	// Computes the tiles from first to last of a task that is the call's, or some of its rows.
	void compute(const Task& t, int64_t first, int64_t last, int64_t block, const at::Tensor& room) const;

 private:
	int kind_;
	int64_t weights_;
	const Kernels& kernels_;
	Winograd* run_;
};

}  // namespace tg::convolution
