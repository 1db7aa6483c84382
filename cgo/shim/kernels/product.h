// Products of two matrices, and the order in which their sums are made.
#pragma once

#include <cstdint>

namespace tg::matrices {

// How a sum of products is made: each in its turn, in blocks. A block's sum begins with zero and is added to what is there already, or goes
// on from that. The first may replace a zero, to which a negative zero would have been added.
struct Order {
	enum Way : int32_t { added, replacing, onward };

	int32_t block = 0;
	Way way = added;
};

// Product is c = start + a x b. A number of a meets whole vectors of b, whose columns lie side by side, as those of c do.
struct Product {
	const float* a;
	int64_t a_row, a_step;  // from one number to the next, of a column and of a row
	const float* b;
	int64_t b_step;
	float* c;
	int64_t c_row;
	const float* start;  // a number for each column, or for each row, or null
	bool across;         // for each column
	int64_t rows, columns, depth;
	Order order;
};

}  // namespace tg::matrices
