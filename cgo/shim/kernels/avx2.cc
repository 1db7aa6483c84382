#include "depthwise.h"
#include "elementwise.h"
#include "gate.h"
#include "maxima.h"
#include "multiply.h"
#include "winograd.h"

namespace tg::convolution {

const Processor avx2 = {
	{
		8,
		{winograd<float, float, 8, 6, 0>, winograd<float, float, 8, 6, 1>, winograd<float, float, 8, 6, 2>},
		{winograd<float, float, 8, 6, 0>, winograd<float, float, 8, 6, 1>, winograd<float, float, 8, 6, 2>},
		{direct<float, 8, 1, 12>, direct<float, 8, 2, 6>, direct<float, 8, 3, 4>},
		depthwise<float, 8>,
		maxima<float, 8>,
		means<float, 8>,
		scale<float, 8>,
	},
	elementwise::elementwise<8>,
	matrices::multiply<8, 2, 6>,
	matrices::turn<8>,
};

}  // namespace tg::convolution
