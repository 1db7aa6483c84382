#include "images.h"

namespace tg::convolution {

#if defined(TG_BFLOAT16)
const Kernels* const bfloat16 = &image_kernels<BFloat16, 16, 12, 8>;
#else
const Kernels* const bfloat16 = nullptr;
#endif

}  // namespace tg::convolution
