#include "depthwise.h"
#include "elementwise.h"
#include "gate.h"
#include "maxima.h"
#include "multiply.h"
#include "winograd.h"

namespace tg::convolution {

const Kernels avx2 = {
	8,
	winograd<8, 6, 2>,
	winograd<8, 6, 4>,
	{direct<8, 1, 12>, direct<8, 2, 6>, direct<8, 3, 4>},
	depthwise<8>,
	maxima<8>,
	means<8>,
	scale<8>,
	elementwise::elementwise<8>,
	matrices::multiply<8, 2, 6>,
	matrices::turn<8>,
};

}  // namespace tg::convolution
