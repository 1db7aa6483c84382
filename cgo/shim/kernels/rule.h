// Rules of optimizers, and whether our kernels have the bits of libtorch's.
#pragma once

#include <ATen/core/Tensor.h>

#include "update.h"

namespace tg::matrices {

// Rule is an optimizer's with its numbers, as libtorch's fused kernels have it.
struct Rule {
	Update::Kind kind;
	bool maximize, nesterov = false;
	double lr, decay;
	double momentum = 0, dampening = 0;                // SGD's
	double beta1 = 0, beta2 = 0, epsilon = 0, at = 1;  // Adam's, and the number of the step

	bool has_mean() const { return kind != Update::sgd || momentum != 0; }
	bool has_square() const { return kind != Update::sgd; }

	Update update() const;

	// Updates as libtorch does. What is not defined is not there.
	void by_libtorch(const at::Tensor& param, const at::Tensor& gradient, const at::Tensor& mean, const at::Tensor& square) const;

	// Whether our kernels update whole vectors as libtorch's do, or also the numbers behind them. It is tried once.
	bool equals_libtorch(bool all) const;
};

// The numbers of a vector of libtorch's, or of two. What a loop in vectors leaves is computed by another one, which may round otherwise.
constexpr int64_t whole = 16;

void place(Update& u, const at::Tensor& param, const at::Tensor& mean, const at::Tensor& square);

// The number that a tensor holds, without a call of an operator where it is real and in the processor's memory.
double number(const at::Tensor& t);

}  // namespace tg::matrices
