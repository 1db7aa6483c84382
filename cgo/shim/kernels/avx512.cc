#include "elementwise.h"
#include "images.h"
#include "multiply.h"

namespace tg::convolution {

const Processor avx512 = {
	image_kernels<float, 16, 12, 8>,
	elementwise::elementwise<16>,
	matrices::multiply<16, 4, 6>,
	matrices::turn<16>,
};

}  // namespace tg::convolution
