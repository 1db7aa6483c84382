// What the kernels of norms of channels are told.
#pragma once

#include <cstdint>

namespace tg::groups {

// Images with their channels last, of which neighbours make groups.
struct Images {
	const float* x;
	float* y;
	int64_t pixels, channels, groups;
	const float *weight, *bias;  // of each channel, or null
	double eps;
	uint8_t activation;
};

// The numbers of room that an image needs: sums, and three of float32.
inline int64_t room_of(const Images& g) { return 3 * g.channels; }

}  // namespace tg::groups
