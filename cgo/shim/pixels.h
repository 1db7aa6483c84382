// From bytes to what networks learn from, in one pass: resizing, mirroring and normalising.
#pragma once

#include <cstdint>

namespace tg::pixels {

// How bytes become numbers: x * (1 / 255), then mean taken off and divided by std, for each of three channels.
struct Normal {
	float mean[3], std[3];
};

// resize writes planes [3, out_h, out_w] of the image of h rows, stride bytes apart, of w pixels of 4 bytes; of the last
// row, 12 bytes behind the last pixel are readable. The bytes in between are those of libtorch's bilinear antialiased kernel.
void resize(const uint8_t* from, int64_t h, int64_t w, int64_t stride, int64_t out_h, int64_t out_w, bool flip, const Normal& normal, float* to);

}  // namespace tg::pixels
