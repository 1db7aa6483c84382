// What joins a residual branch: it is added to what went around it, and the sum goes on, and its layer norm into the next branch.
#pragma once

#include <cstdint>

namespace tg::residual {

// Rows of so many columns, a multiple of kColumns, that lie side by side. Numbers are those that the kernels are for, or float32 where they are
// wide; sums are always.
struct Branch {
	const void *x, *y;
	bool x_wide, y_wide;
	const void *weight, *bias;
	float* sum;
	void* to;
	int64_t columns;
	float eps;
};

constexpr int64_t kColumns = 16;

}  // namespace tg::residual
