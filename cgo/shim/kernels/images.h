// All that images are computed with, of one kind of numbers and in vectors of one width.
#pragma once

#include "attention.h"
#include "depthwise.h"
#include "gate.h"
#include "interleave.h"
#include "maxima.h"
#include "residual.h"
#include "winograd.h"

namespace tg::convolution {
namespace {

// Winograd's forms, of images of M that become numbers of T, and results of N.
template <class M, class N, class T, int W, int R>
constexpr Winograds forms = {winograd<M, N, T, W, R, 0>, winograd<M, N, T, W, R, 1>, winograd<M, N, T, W, R, 2>, winograd<M, N, T, W, R, 3>,
                             winograd<M, N, T, W, R, 4>};

// Images of N in vectors of W sums: of two vectors, as Winograd's are, so many pixels are computed together as two says, of three as three says.
template <class N, int W, int two, int three>
constexpr Kernels image_kernels = {
	W,
	forms<N, N, N, W, two>,
	forms<N, N, float, W, two>,
	forms<float, N, N, W, two>,
	{direct<N, W, 1, 12>, direct<N, W, 2, two>, direct<N, W, 3, three>},
	depthwise<N, W>,
	maxima<N, N, W>,
	maxima<float, N, W>,
	means<N, W>,
	scale<N, W>,
	interleave<N, W>,
	attention::attend<N, W, two>,
	residual::add_norm<N, W>,
};

}  // namespace
}  // namespace tg::convolution
