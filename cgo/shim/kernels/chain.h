// Chains of operators that compute each number by itself.
#pragma once

#include <cstdint>

namespace tg::elementwise {

enum Op : int64_t { kAdd, kSub, kMul, kDiv, kNeg, kAbs, kRelu, kOps };

// Step is one operator. Values are the inputs of the chain and, behind them, the slots, blocks of numbers in a room.
struct Step {
	int64_t op, a, b, to;  // to is a slot
};

constexpr int64_t kBlock = 512;  // the numbers of a slot
constexpr int64_t kSlots = 16;

struct Chain {
	const float* const* input;
	const int64_t* advance;  // of each input, from one number to the next: 1, or 0 for a block of equal ones
	int64_t inputs;
	const Step* steps;
	int64_t length;
	float* y;  // of the last step
};

}  // namespace tg::elementwise
