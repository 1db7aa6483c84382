#include "cascade.h"
#include "channel_norms.h"
#include "dots.h"
#include "elementwise.h"
#include "fewrows.h"
#include "images.h"
#include "lanes.h"
#include "narrow.h"
#include "recurrent.h"
#include "rms_norm.h"
#include "rotary.h"
#include "skip.h"

namespace tg::convolution {

const Processor avx512 = {
	image_kernels<float, 16, 12, 8>,
	elementwise::elementwise<16>,
	elementwise::rectify<16>,
	matrices::multiply<16, 4>,
	matrices::multiply_in_lanes,
	matrices::pick<16>,
	matrices::multiply_picked<16>,
	matrices::turn<16>,
	matrices::update<16>,
	rows::log_softmax<16>,
	rows::log_softmax_derivative<16>,
	sums::sum_columns<16>,
	recurrent::recurrent<16>,
	attention::attend_few<16>,
	{{narrow<BFloat16, 16, 1, 12>, narrow<BFloat16, 16, 2, 12>, narrow<BFloat16, 16, 3, 8>},
	 {narrow<int8_t, 16, 1, 12>, narrow<int8_t, 16, 2, 12>, narrow<int8_t, 16, 3, 8>}},
	groups::norm<16>,
	rows::rms_norm<16>,
	rows::rotary<16>,
	groups::affine<16>,
};

}  // namespace tg::convolution
