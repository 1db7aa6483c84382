// Convolutions of images in eight bits: numbers without sign, of which one stands for zero, times weights with sign. Sums are exact; what
// they become is computed in float32 and rounded once.
#pragma once

#include "convolution.h"

namespace tg::uint8 {

using convolution::Activation;

// What a sum becomes: scale * (start + sum) + bias, with what is added, behind the activation.
struct Finish {
	const int32_t* start;  // what the numbers that stand for zero are to be taken off by
	const float* scale;
	const float* bias;
	Activation activation;
	float by, zero;  // of a result in eight bits: how many steps one is, and the number that stands for zero
	uint8_t* whole;  // where results go in eight bits, or
	float* real;     // in float32

	// What is added, with y's shape, or null.
	const uint8_t* sum = nullptr;
	float sum_scale = 0, sum_zero = 0;
};

// Images lie with their channels last, and have what stands for zero around already.
struct Task {
	const uint8_t* x;
	const int8_t* weight;
	int64_t images, channels, height, width;
	int64_t outputs, out_height, out_width;
	int64_t down, across;  // the steps
	int64_t kernel_height, kernel_width;

	// Sums are made of four products at a time: so many fours has a row of the kernel, or the kernel of one channel.
	int64_t fours;
	Finish finish;

	int64_t pixels() const { return images * out_height * out_width; }
};

// The numbers of a vector of sums, and those of a vector of eight bits.
constexpr int64_t kSums = 16, kBytes = 64;

// Even is a number in as few parts as there may be of a size, all nearly as large.
struct Even {
	int64_t all, parts;

	Even(int64_t n, int64_t most) : all(n), parts((n + most - 1) / most) {}
	int64_t first(int64_t i) const { return all / parts * i + (i < all % parts ? i : all % parts); }
	int64_t size(int64_t i) const { return first(i + 1) - first(i); }
};

// The vectors of outputs of a direct convolution that are computed together, at most.
constexpr int64_t kPanel = 4;

struct Kernels {
	// The outputs of a panel of one to four vectors from one on, of the pixels from first to last.
	void (*direct[kPanel])(const Task& t, int64_t vector, int64_t first, int64_t last);
	// Each channel by itself, of the rows of outputs from first to last, counted through all images. A row of x has the columns that each
	// step begins with, then those behind these, and so on.
	void (*depthwise)(const Task& t, int64_t first, int64_t last);
	// Numbers in eight bits: x * by rounded, plus zero.
	void (*quantize)(const float* x, int64_t n, float by, int32_t zero, uint8_t* y);
	// The sums of an image's channels, and its channels, less the number that stands for zero, times a number each, plus zero.
	void (*sums)(const uint8_t* x, int64_t pixels, int64_t channels, int32_t* y);
	void (*scale)(const uint8_t* x, float x_zero, const float* by, int64_t pixels, int64_t channels, float zero, uint8_t* y);
	// Pixels that lie so far apart, side by side.
	void (*gather)(const uint8_t* x, int64_t step, int64_t pixels, int64_t channels, uint8_t* y);
};

// What processors with AVX-512 and VNNI compute with; null where the compiler has none.
extern const Kernels* const vnni;

// What this processor computes with, or an error.
const Kernels& kernels();

}  // namespace tg::uint8
