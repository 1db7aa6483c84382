// Convolutions by Winograd's tiles, whose arguments were checked.
#pragma once

#include "call.h"

namespace tg::convolution {

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
	bool alike_;  // weights are of the dtype of the images
	int64_t weights_;
	const Kernels& kernels_;
};

}  // namespace tg::convolution
