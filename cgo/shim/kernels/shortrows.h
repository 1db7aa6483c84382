// log_softmax of rows that are shorter than a vector, as those of ten classes are, and its derivative.
#pragma once

#include <cstdint>

namespace tg::rows {

// ShortRows lie side by side, of so many numbers each. Functions of a vector are libtorch's, whose bits they make.
struct ShortRows {
	const float* x;  // or the gradient
	const float* y;  // for the derivative, what log_softmax has made
	float* to;
	int64_t columns;
	void (*exp)();
	void (*log)();
};

}  // namespace tg::rows
