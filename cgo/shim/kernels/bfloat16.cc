#include "depthwise.h"
#include "gate.h"
#include "maxima.h"
#include "winograd.h"

namespace tg::convolution {

#if defined(__AVX512BF16__)
namespace {

constexpr Kernels kernels = {
	16,
	{winograd<BFloat16, BFloat16, 16, 12, 0>, winograd<BFloat16, BFloat16, 16, 12, 1>, winograd<BFloat16, BFloat16, 16, 12, 2>},
	{winograd<BFloat16, float, 16, 12, 0>, winograd<BFloat16, float, 16, 12, 1>, winograd<BFloat16, float, 16, 12, 2>},
	{direct<BFloat16, 16, 1, 12>, direct<BFloat16, 16, 2, 12>, direct<BFloat16, 16, 3, 8>},
	depthwise<BFloat16, 16>,
	maxima<BFloat16, 16>,
	means<BFloat16, 16>,
	scale<BFloat16, 16>,
};

}  // namespace

const Kernels* const bfloat16 = &kernels;
#else
const Kernels* const bfloat16 = nullptr;
#endif

}  // namespace tg::convolution
