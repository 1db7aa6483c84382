// Convolutions of images in float32 where libtorch's own, oneDNN's, take longer than they need to on x86: Winograd's with fewer
// multiplications for 3 x 3, direct ones for few channels and for small images, where finding oneDNN's kernel takes longer than the
// kernel, and those of each channel by itself.
#pragma once

#include <cstdint>

#include "chain.h"
#include "product.h"

namespace tg::convolution {

// What is done to a result.
enum class Activation : uint8_t { none, relu, relu6, hardswish, hardsigmoid, swish, sigmoid };

// Images lie with their channels last. Winograd's weights are panels of as many outputs as two vectors have numbers, direct ones of one,
// two or three vectors.
struct Task {
	const float* x;
	const float* weight;
	const float* bias;  // or null
	const float* sum;   // what is added, with y's shape, or null
	float* y;
	int64_t images, channels, height, width;
	int64_t outputs, out_height, out_width;
	Activation activation;

	// Winograd's, and those of each channel: rows and columns of zeros around. Direct ones find the zeros in x.
	int64_t above = 0, left = 0;

	// All but Winograd's.
	int64_t down = 1, across = 1;  // the steps
	int64_t kernel_height = 1, kernel_width = 1;

	int64_t tiles_down(int tile) const { return (out_height + tile - 1) / tile; }
	int64_t tiles_across(int tile) const { return (out_width + tile - 1) / tile; }
	int64_t tiles(int tile) const { return images * tiles_down(tile) * tiles_across(tile); }
	int64_t pixels() const { return images * out_height * out_width; }
};

// Panels are the vectors of outputs of a direct convolution that are computed together: three, and two where three would leave one alone.
struct Panels {
	int64_t vectors;

	int64_t twos() const { return vectors < 2 ? 0 : (3 - vectors % 3) % 3; }
	int64_t threes() const { return (vectors - 2 * twos()) / 3; }
	int64_t count() const { return vectors == 1 ? 1 : threes() + twos(); }
	int64_t first(int64_t panel) const { return panel < threes() ? 3 * panel : 3 * threes() + 2 * (panel - threes()); }
	int64_t size(int64_t panel) const { return vectors == 1 ? 1 : panel < threes() ? 3 : 2; }
};

// Numbers of a transformed tile.
constexpr int64_t numbers(int tile) { return (tile + 2) * (tile + 2); }

// The floats from one of a tile's numbers to the next: a line of cache more than a block of them takes, because what is a power of two apart
// shares few lines of the cache.
constexpr int64_t apart(int64_t block, int64_t size) { return block * size + 16; }

// The floats of room that a block of tiles needs.
constexpr int64_t room(int tile, int64_t block, int64_t channels, int64_t outputs) {
	return channels + numbers(tile) * (apart(block, channels) + apart(block, outputs));
}

// Kernels are what one kind of processors computes with.
struct Kernels {
	int64_t vector;  // the numbers of one; Winograd's take multiples of it as channels, and of two as outputs

	// The tiles from first to last, of 2 x 2 or 4 x 4 outputs, not more than a block at a time.
	void (*winograd2)(const Task& t, int64_t first, int64_t last, int64_t block, float* room);
	void (*winograd4)(const Task& t, int64_t first, int64_t last, int64_t block, float* room);
	// The outputs of a panel of one, two or three vectors from one on, of the pixels from first to last. The last vector may have more numbers
	// than there are outputs.
	void (*direct[3])(const Task& t, int64_t vector, int64_t first, int64_t last);
	// Each channel by itself, of the rows of outputs from first to last, counted through all images.
	void (*depthwise)(const Task& t, int64_t first, int64_t last);
	// The largest of neighbouring pixels, of the rows of outputs from first to last.
	void (*maxima)(const Task& t, int64_t first, int64_t last);
	// The means of an image's channels, and channels times a number each.
	void (*means)(const float* x, int64_t pixels, int64_t channels, float* y);
	void (*scale)(const float* x, const float* by, int64_t pixels, int64_t channels, float* y);
	// The numbers of a chain from first to last, with room for its slots.
	void (*elementwise)(const elementwise::Chain& t, int64_t first, int64_t last, float* room);
	// Takes the least time for rows by the half dozen, and columns by as many vectors as two or four.
	void (*multiply)(const matrices::Product& p);
	void (*turn)(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to, int64_t to_row);
};

extern const Kernels avx2;    // and FMA
extern const Kernels avx512;

// The points where Winograd's polynomials are taken, with 0 and infinity. Those of the larger tiles round least of all that were
// tried: 1, 2 and their negatives, which are usual, round twice as much.
constexpr double kNear = 0.75, kFar = 1.5;

}  // namespace tg::convolution
