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

const Processor avx2 = {
	image_kernels<float, 8, 6, 4>,
	elementwise::elementwise<8>,
	elementwise::rectify<8>,
	matrices::multiply<8, 3>,
	matrices::multiply_in_lanes,
	matrices::pick<8>,
	matrices::multiply_picked<8>,
	matrices::turn<8>,
	matrices::update<8>,
	rows::log_softmax<8>,
	rows::log_softmax_derivative<8>,
	sums::sum_columns<8>,
	recurrent::recurrent<8>,
	attention::attend_few<8>,
	{{narrow<BFloat16, 8, 1, 12>, narrow<BFloat16, 8, 2, 6>, narrow<BFloat16, 8, 3, 4>},
	 {narrow<int8_t, 8, 1, 12>, narrow<int8_t, 8, 2, 6>, narrow<int8_t, 8, 3, 4>}},
	groups::norm<8>,
	rows::rms_norm<8>,
	rows::rotary<8>,
	groups::affine<8>,
};

}  // namespace tg::convolution
