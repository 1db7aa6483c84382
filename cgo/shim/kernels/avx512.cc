#include "depthwise.h"
#include "winograd.h"

namespace tg::convolution {

const Kernels avx512 = {32, 16, winograd<16, 12, 2>, winograd<16, 12, 4>, direct<16, 12>, depthwise<16>};

}  // namespace tg::convolution
