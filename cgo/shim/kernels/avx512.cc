#include "depthwise.h"
#include "elementwise.h"
#include "gate.h"
#include "maxima.h"
#include "multiply.h"
#include "winograd.h"

namespace tg::convolution {

const Kernels avx512 = {
	16,
	winograd<16, 12, 2>,
	winograd<16, 12, 4>,
	{direct<16, 1, 12>, direct<16, 2, 12>, direct<16, 3, 8>},
	depthwise<16>,
	maxima<16>,
	means<16>,
	scale<16>,
	elementwise::elementwise<16>,
	matrices::multiply<16, 4, 6>,
	matrices::turn<16>,
};

}  // namespace tg::convolution
