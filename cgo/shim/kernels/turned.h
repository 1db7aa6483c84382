// What the kernel of places that turn is told: rotary embeddings, x * cos + (the negated second half of x, its first half) * sin.
#pragma once

#include <cstdint>

namespace tg::rows {

// Turned are rows of an even number of neighbours, in at most so many dimensions, each with its steps.
struct Turned {
	static constexpr int kDims = 4;

	const float *x, *cos, *sin;
	float* y;
	int64_t columns;
	int64_t sizes[kDims] = {};
	int64_t x_steps[kDims] = {}, cos_steps[kDims] = {}, sin_steps[kDims] = {}, y_steps[kDims] = {};
};

}  // namespace tg::rows
