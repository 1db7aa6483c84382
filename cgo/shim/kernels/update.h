// What an optimizer does to a parameter with its gradient, number by number, with the bits of libtorch's fused kernels: as a product brings
// numbers of the gradient, which so need not go through memory.
#pragma once

#include <cstdint>

namespace tg::matrices {

// Update is a step of a parameter.
struct Update {
	enum Kind : int32_t { sgd, adam, adamw };

	Kind kind = sgd;
	bool maximize = false, nesterov = false;
	float *param = nullptr, *mean = nullptr, *square = nullptr;  // mean is the buffer of a momentum, or null; square is Adam's
	int64_t width = 0;                                           // of a row of each
	float decay = 0;                                             // AdamW's is what is left of the parameter; 1 or 0 change nothing
	float kept = 0, taken = 0;                                   // of mean, and of the gradient for it
	float square_kept = 0, square_taken = 0, square_scale = 1, epsilon = 0;
	float step = 0;  // times what the parameter is to become more
};

}  // namespace tg::matrices
