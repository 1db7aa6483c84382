// Convolutions of images in float32 and bfloat16 where libtorch's own, oneDNN's, take longer than they need to on x86: Winograd's with fewer
// multiplications for 3 x 3, direct ones for few channels and for small images, where finding oneDNN's kernel takes longer than the
// kernel, and those of each channel by itself.
#pragma once

#include <array>
#include <cstdint>

#include "branch.h"
#include "cell.h"
#include "chain.h"
#include "groups.h"
#include "head.h"
#include "number.h"
#include "product.h"
#include "shortrows.h"
#include "turned.h"

namespace tg::convolution {

// What is done to a result.
enum class Activation : uint8_t { none, relu, relu6, hardswish, hardsigmoid, swish, sigmoid, gelu, gelu_tanh };

// Images lie with their channels last, of the numbers that the kernels are for, as are weights and sums. Winograd's weights are panels of as
// many outputs as two vectors have numbers, direct ones of one, two or three vectors.
struct Task {
	const void* x;
	const void* weight;
	const float* bias;  // or null
	const void* sum;    // what is added, with y's shape, or null
	void* y;
	int64_t images, channels, height, width;
	int64_t outputs, out_height, out_width;
	Activation activation;

	// Winograd's, and those of each channel: rows and columns of zeros around. Direct ones find the zeros in x.
	int64_t above = 0, left = 0;

	// All but Winograd's, whose weights say it.
	int64_t down = 1, across = 1;  // the steps
	int64_t kernel_height = 1, kernel_width = 1;
	int64_t apart = 1;  // the rows of an image from one that a row of the kernel meets to the next, of direct ones

	// From a vector of channels to the next where each has its pixels side by side: in what a direct one makes for those of each channel, and
	// these read. Otherwise a pixel's channels lie together.
	int64_t apart_vectors = 0;

	// Results are float32, with nothing added and no activation but ReLU, of direct ones.
	bool wide = false;

	// The panels of three vectors that few pixels meet at once, of direct ones; none where there are more pixels.
	int64_t panels = 0;

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

	// So many of three vectors are met at once at most, and whether there are registers for the sums of some with so many rows, where a vector
	// has so many numbers.
	static constexpr int kPanels = 4;
	static constexpr bool fit(int64_t panels, int64_t rows, int64_t vector) { return 2 * panels * rows <= vector; }

	// How many of three vectors, from one on and before another, so few rows meet at once.
	int64_t at_once(int64_t panel, int64_t last, int64_t rows, int64_t vector) const {
		const int64_t there = (last < threes() ? last : threes()) - panel;
		for (int64_t n = kPanels; n > 1; n /= 2) {
			if (n <= there && fit(n, rows, vector)) {
				return n;
			}
		}
		return 1;
	}
};

// So few rows take the time in which weights come from memory, and meet narrow ones as they are.
constexpr int kFewRows = 4;

using Narrow = void(const Task& t, const float* scale, int64_t vector, int64_t first, int64_t last, float* room);

// Winograd's forms: tiles of so many outputs, down and across, that lie so many pixels apart and see as many as there are taps. Images may be
// folded: fold x fold pixels are one, of as many times the channels, so that a kernel of 7 x 7 with steps of two is one of 4 x 4.
struct Form {
	int down, across, step;
	int taps = 3, fold = 1;

	// What it computes, with images as they are.
	constexpr int kernel() const { return fold * (taps - 1) + 1; }
	constexpr int stride() const { return fold * step; }

	// The channels of what is one pixel, and how far apart those of neighbours lie, in vectors of so many: pixels that are one are written as a
	// whole vector, or each row of them if they do not fit.
	constexpr int64_t depth(int64_t channels) const { return fold * fold * channels; }
	constexpr bool is_vector(int64_t channels, int64_t vector) const { return fold == 2 && depth(channels) <= vector; }
	constexpr int64_t lying(int64_t channels, int64_t vector) const {
		return fold == 1 ? channels : is_vector(channels, vector) ? vector : whole((fold - 1) * fold * channels + vector, vector);
	}

	// Whether there is a kernel for so many channels.
	constexpr bool fits(int64_t channels, int64_t vector) const { return fold == 1 ? channels % vector == 0 : fold * channels <= vector; }

	// The inputs that so many outputs of a side see, which become as many numbers.
	constexpr int64_t seen(int64_t outputs) const { return step * (outputs - 1) + taps; }

	// Of the inputs that a tile sees, and of what they become.
	constexpr int rows() const { return static_cast<int>(seen(down)); }
	constexpr int columns() const { return static_cast<int>(seen(across)); }
	constexpr int64_t numbers() const { return rows() * columns(); }

	// The numbers of a side fall into groups, of which each makes one sum: with steps of one they are alone, and with steps of two the first
	// two, and the last two, are for one output, and that between them for both.
	constexpr int groups_down() const { return step == 1 ? rows() : 3; }
	constexpr int groups_across() const { return step == 1 ? columns() : 3; }
	constexpr int start(int group) const { return step == 1 ? group : group + (group > 0 ? 1 : 0); }
	constexpr int size(int group) const { return step == 1 || group == 1 ? 1 : 2; }
	constexpr int group(int number) const { return step == 1 ? number : number < 2 ? 0 : number == 2 ? 1 : 2; }
	constexpr int64_t sums() const { return groups_down() * groups_across(); }

	// Those of a group of both sides lie side by side: how many there are, where the first one lies, and where each does.
	constexpr int64_t parts(int down, int across) const { return size(down) * size(across); }
	constexpr int64_t first(int down, int across) const { return start(down) * columns() + size(down) * start(across); }
	constexpr int64_t place(int row, int column) const {
		const int d = group(row), a = group(column);
		return first(d, a) + (row - start(d)) * size(a) + column - start(a);
	}

	int64_t tiles_down(const Task& t) const { return (t.out_height + down - 1) / down; }
	int64_t tiles_across(const Task& t) const { return (t.out_width + across - 1) / across; }
	int64_t tiles(const Task& t) const { return t.images * tiles_down(t) * tiles_across(t); }
};

constexpr Form kForms[] = {{2, 2, 1}, {4, 4, 1}, {2, 2, 2}, {2, 4, 1}, {3, 3, 1, 4, 2}};
constexpr int kFormCount = sizeof kForms / sizeof *kForms;

// From one of a tile's numbers to the next: a line of cache more than a block of them takes, because what is a power of two apart shares
// few lines of the cache.
template <class N>
constexpr int64_t apart(int64_t block, int64_t size) {
	return block * size + 16 * together<N>;
}

// The floats of room that a block of tiles needs, of any numbers, whose channels lie so far apart.
constexpr int64_t room(const Form& form, int64_t block, int64_t lying, int64_t outputs) {
	return lying + form.numbers() * apart<float>(block, lying) + form.sums() * apart<float>(block, outputs);
}

using Winograd = void(const Task& t, int64_t first, int64_t last, int64_t block, float* room);
using Winograds = std::array<Winograd*, kFormCount>;

// Kernels are what one kind of processors computes images with, of one kind of numbers.
struct Kernels {
	int64_t vector;  // the sums of one; Winograd's take multiples of it as channels, or as many as fill one folded, and of two as outputs

	// The tiles of each form from first to last, not more than a block at a time; what they become, and the weights, are numbers as images have
	// them, or float32. Images of the last may be float32, and the results are not.
	Winograds winograd, winograd_float, winograd_of_float;
	// The outputs of a panel of one, two or three vectors from one on, of the pixels from first to last. The last vector may have more numbers
	// than there are outputs.
	void (*direct[3])(const Task& t, int64_t vector, int64_t first, int64_t last);
	// Each channel by itself, of the rows of outputs from first to last, counted through all images.
	void (*depthwise)(const Task& t, int64_t first, int64_t last);
	// The largest of neighbouring pixels, of the rows of outputs from first to last, and those of images of float32.
	void (*maxima)(const Task& t, int64_t first, int64_t last);
	void (*maxima_float)(const Task& t, int64_t first, int64_t last);
	// The means of an image's channels, and channels times a number each.
	void (*means)(const void* x, int64_t pixels, int64_t channels, void* y);
	void (*scale)(const void* x, const void* by, int64_t pixels, int64_t channels, void* y);
	// A row of an image whose channels lie so far apart, and whose pixels do, with the channels last.
	void (*interleave)(const void* row, int64_t apart, int64_t step, int64_t width, int64_t channels, void* y);
	// A head of an attention, with room for it.
	void (*attend)(const attention::Head& h, float* room);
	// The rows from first to last of sums and their layer norms.
	void (*add_norm)(const residual::Branch& b, int64_t first, int64_t last);
};

// Processor is a kind of processors: what computes its images, and what else it computes with, in float32.
struct Processor {
	Kernels images;
	// The numbers of a chain from first to last, with room for its slots.
	void (*elementwise)(const elementwise::Chain& t, int64_t first, int64_t last, float* room);
	// ReLU, or its derivative by what it made.
	void (*rectify)(const float* by, int64_t n, float* to);
	// Takes the least time for rows by the half dozen, and columns by as many vectors as two or four.
	void (*multiply)(const matrices::Product& p);
	// The same in lanes.
	void (*multiply_in_lanes)(const matrices::Product& p);
	// The numbers of a row that are not zero.
	void (*pick)(const float* row, int64_t depth, int64_t piece, int64_t vectors, uint64_t* words, int64_t* counts);
	// The product of rows that were picked from; false if zeros would have changed it. Room is that of a piece's vectors of b.
	bool (*multiply_picked)(const matrices::Product& p, float* room);
	void (*turn)(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to, int64_t to_row, bool relu);
	// Updates as many numbers with those of a gradient.
	void (*update)(const matrices::Update& u, const float* gradient, int64_t n);
	// The rows from first to last, each shorter than a vector.
	void (*log_softmax)(const rows::ShortRows& r, int64_t first, int64_t last);
	void (*log_softmax_derivative)(const rows::ShortRows& r, int64_t first, int64_t last);
	// Sums up each column of a matrix whose rows lie side by side.
	void (*sum_columns)(const float* x, int64_t rows, int64_t columns, float* to);
	// A part of sequences, whose steps before are done.
	void (*recurrent)(const recurrent::Sequence& s, const recurrent::Part& part);
	// A head of few rows, with room for it.
	void (*attend_few)(const attention::Head& h, float* room);
	// The rows from first to last of a linear layer with weights of bfloat16, or of eight bits with scales: a panel of one, two or three
	// vectors, with room for it in float32 where rows are not few.
	Narrow* narrow[2][3];
	// A group norm of the image of that number, with room for it.
	void (*group_norm)(const groups::Images& g, int64_t image, double* room);
	// The rows from first to last over their root mean square, times a weight or null.
	void (*rms_norm)(const float* x, const float* weight, int64_t columns, float eps, int64_t first, int64_t last, float* y);
	// The rows from first to last of rotary embeddings.
	void (*rotary)(const rows::Turned& t, int64_t first, int64_t last);
	// Numbers times their channel's weight, and its bias added, of the pixels from first to last of all images.
	void (*affine)(const groups::Images& g, int64_t first, int64_t last);
};

extern const Processor avx2;    // and FMA
extern const Processor avx512;

// What computes images of bfloat16 with AVX-512's instructions for it; null where the compiler has none.
extern const Kernels* const bfloat16;

// The points where Winograd's polynomials are taken, with 0 and infinity. Those of the larger tiles round least of all that were
// tried: 1, 2 and their negatives, which are usual, round twice as much.
constexpr double kNear = 0.75, kFar = 1.5;

}  // namespace tg::convolution
