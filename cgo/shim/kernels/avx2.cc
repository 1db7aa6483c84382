#include "depthwise.h"
#include "winograd.h"

namespace tg::convolution {

const Kernels avx2 = {16, 8, winograd<8, 6, 2>, winograd<8, 6, 4>, direct<8, 6>, depthwise<8>};

}  // namespace tg::convolution
