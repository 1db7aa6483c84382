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

// Images of N in vectors of W sums: of two vectors, as Winograd's are, so many pixels are computed together as two says, of three as three says.
template <class N, int W, int two, int three>
constexpr Kernels image_kernels = {
	W,
	{winograd<N, N, W, two, 0>, winograd<N, N, W, two, 1>, winograd<N, N, W, two, 2>, winograd<N, N, W, two, 3>, winograd<N, N, W, two, 4>},
	{winograd<N, float, W, two, 0>, winograd<N, float, W, two, 1>, winograd<N, float, W, two, 2>, winograd<N, float, W, two, 3>,
	 winograd<N, float, W, two, 4>},
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
