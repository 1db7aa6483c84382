// The order in which libtorch sums up a product of matrices is found out by trying.
#pragma once

#include <ATen/Context.h>

#include "convolution.h"

namespace tg::matrices {

// Layout is all that the order of a product's sums may depend on: sizes, the distances of numbers in memory, and what the processor does.
struct Layout {
	int64_t rows, columns, depth;
	int64_t a_row, a_step, b_step, b_column;
	bool starts;  // with a row that is added to all
	int threads;
	at::Float32Precision precision;

	bool operator==(const Layout&) const = default;
};

// Whether sums can be made in lanes: of few columns, and of rows and columns whose numbers lie side by side. MKL's lanes depend on where a row
// begins, so all rows have to lie as the first one does, whose place is asked for.
bool fits_lanes(const Layout& l);
bool lies_for_lanes(const float* numbers);

// c = start + a x b, in this order, or ReLU of that if it is asked for and takes no pass of its own; then true.
bool multiply(const convolution::Processor& k, const Layout& l, const Order& order, const float* a, const float* b, const float* start,
              float* c, bool relu = false);

// What is known of a layout: the order of our kernels that makes libtorch's bits, with blocks of 0 where none does, or until the layout has
// come up some times, and whether they take less time in it.
struct Known {
	Order order;
	bool sooner = false;
};

Known order_of(const Layout& l);

}  // namespace tg::matrices
