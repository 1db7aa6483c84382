#include "depthwise.h"
#include "elementwise.h"
#include "gate.h"
#include "maxima.h"
#include "multiply.h"
#include "winograd.h"

namespace tg::convolution {

const Processor avx512 = {
	{
		16,
		{winograd<float, float, 16, 12, 0>, winograd<float, float, 16, 12, 1>, winograd<float, float, 16, 12, 2>},
		{winograd<float, float, 16, 12, 0>, winograd<float, float, 16, 12, 1>, winograd<float, float, 16, 12, 2>},
		{direct<float, 16, 1, 12>, direct<float, 16, 2, 12>, direct<float, 16, 3, 8>},
		depthwise<float, 16>,
		maxima<float, 16>,
		means<float, 16>,
		scale<float, 16>,
	},
	elementwise::elementwise<16>,
	matrices::multiply<16, 4, 6>,
	matrices::turn<16>,
};

}  // namespace tg::convolution
