// The numbers that images and weights are made of.
#pragma once

#include <cstdint>

namespace tg::convolution {

// The upper half of a number of float32.
struct BFloat16 {
	uint16_t bits;
};

// The numbers that are multiplied at once and added to one sum: so many neighbours take the place of one of float32.
template <class N>
constexpr int64_t together = sizeof(float) / sizeof(N);

// Numbers and zeros behind them, to be multiplied together.
constexpr int64_t whole(int64_t numbers, int64_t together) { return (numbers + together - 1) / together * together; }

}  // namespace tg::convolution
