// Products of two matrices, and the order in which their sums are made.
#pragma once

#include <cstdint>

namespace tg::matrices {

// How a sum of products is made: each in its turn, in blocks. A block's sum begins with zero and is added to what is there already, or goes
// on from that. The first may replace a zero, to which a negative zero would have been added. Or products are added in four lanes, or in
// eight, and these by halves, as of few columns: then block has a bit for each column that has eight, and one more.
struct Order {
	enum Way : int32_t { added, replacing, onward, lanes };
	static constexpr int few = 16;

	int32_t block = 0;
	Way way = added;

	static Order in_lanes(int32_t eight) { return {1 << few | eight, lanes}; }
	bool has_eight(int64_t column) const { return block >> column & 1; }
};

// The numbers of a's rows that are not zero, each with how far its row of b lies behind the first, in a word. Those of a piece are found
// where it begins: a block, or, where a sum goes on from what is there, as much of b as stays near. A piece of b lies in rows of some vectors.
struct Picked {
	static constexpr int most = 8;  // vectors: as many sums hide what it takes to add

	uint64_t* words = nullptr;  // [rows, depth]
	int64_t* counts = nullptr;  // [rows, pieces]
	int64_t piece = 1;
	int64_t vectors = most;
};

// Ending is what sums become when they are whole: ReLU of them, or zero where another number, which lies as in c, is not positive.
struct Ending {
	bool rectified = false;
	const float* by = nullptr;
};

struct Update;

// Product is c = start + a x b. A number of a meets whole vectors of b, whose columns lie side by side, as those of c do, but for products of
// what was picked, and with vectors that are less than whole lines of memory, of so many numbers, blocks that stay near.
struct Product {
	static constexpr int64_t whole = 16, near = 384;  // near is the longest of MKL's blocks

	const float* a;
	int64_t a_row, a_step;  // from one number to the next, of a column and of a row
	const float* b;
	int64_t b_step, b_column;
	float* c;
	int64_t c_row;
	const float* start;  // a number for each column, or for each row, or null
	bool across;         // for each column
	int64_t rows, columns, depth;
	Order order;
	Ending ending = {};  // of what was picked
	Picked picked = {};
	const Update* update = nullptr;  // what takes the place of writing to c, of the rows and columns from these on
	int64_t row = 0, column = 0;

	// The most vectors of what was picked, of so many numbers: fewer beside what an update keeps, where registers are few.
	static constexpr int most(int64_t numbers, bool updates) { return updates && numbers < whole ? 6 : Picked::most; }

	int64_t block() const { return order.block < depth ? order.block : depth; }
	int64_t pieces() const { return (depth + picked.piece - 1) / picked.piece; }
};

}  // namespace tg::matrices
