// What a layer reads is mostly of one sign, as behind a ReLU, or alike, as neighbouring pixels are: then the errors of the weights that make
// an output count by their sum.
#include "rounding.h"

#include <ATen/Dispatch_v2.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tg::convolution {
namespace {

using at::Tensor;

// A number that can be rounded to the other side.
template <class N>
struct Candidate {
	float price;  // by how much the squares of the errors rise, for what is made up for
	float step;   // what is made up for
	int64_t at;
	N far;

	bool operator<(const Candidate& other) const { return price != other.price ? price < other.price : at < other.at; }
};

// How many numbers of a row are rounded to the other side at most: errors by chance add up to 0.3 steps times the root of their number.
size_t most_of(int64_t row) { return static_cast<size_t>(2 * std::sqrt(static_cast<double>(row))) + 1; }

// The number at the other side of w, which is near: bits of floating-point numbers rise with their sizes.
template <class N>
N beyond(float w, N near) {
	near.x = static_cast<uint16_t>(std::abs(w) > std::abs(static_cast<float>(near)) ? near.x + 1 : near.x - 1);
	return near;
}

int8_t beyond(float w, int8_t near) {
	constexpr int most = 127;
	return static_cast<int8_t>(std::clamp(w > near ? near + 1 : near - 1, -most, most));
}

template <class N>
N nearest(float w) {
	return static_cast<N>(w);
}

template <>
int8_t nearest(float w) {
	constexpr float most = 127;
	return static_cast<int8_t>(std::isnan(w) ? 0 : std::clamp(std::nearbyint(w), -most, most));
}

template <class N>
void round_row(const float* w, int64_t n, bool inwards, N* to, std::vector<Candidate<N>>& room) {
	double missing = 0;
	for (int64_t i = 0; i < n; i++) {
		to[i] = nearest<N>(w[i]);
		missing += static_cast<double>(w[i]) - static_cast<float>(to[i]);
	}
	if (!std::isfinite(missing)) {
		return;
	}
	room.clear();
	for (int64_t i = 0; i < n; i++) {
		const float own = w[i] - static_cast<float>(to[i]);
		const N far = beyond(w[i], to[i]);
		if (own * missing > 0 && far != to[i] && (!inwards || std::abs(static_cast<float>(far)) < std::abs(static_cast<float>(to[i])))) {
			const float step = std::abs(static_cast<float>(far) - static_cast<float>(to[i]));
			room.push_back({step - 2 * std::abs(own), step, i, far});
		}
	}
	auto end = room.begin() + static_cast<int64_t>(std::min(room.size(), most_of(n)));
	std::nth_element(room.begin(), end, room.end());
	std::sort(room.begin(), end);
	missing = std::abs(missing);
	for (auto c = room.begin(); c != end; c++) {
		if (c->step <= 2 * missing) {
			to[c->at] = c->far;
			missing -= c->step;
		}
	}
}

}  // namespace

Tensor balanced(const Tensor& weight, at::ScalarType dtype, bool inwards) {
	constexpr int64_t enough = 1 << 14;  // numbers for a thread
	TORCH_CHECK_VALUE(weight.scalar_type() == at::kFloat && weight.dim() > 0, "expected weights of float32, got ", weight.sizes(), " of ",
	                  weight.scalar_type());
	const auto from = weight.contiguous();
	auto to = at::empty(from.sizes(), from.options().dtype(dtype));
	const int64_t rows = from.size(0), n = from.numel() / std::max<int64_t>(1, rows);
	auto round = [&](auto* out) {
		at::parallel_for(0, rows, enough / std::max<int64_t>(1, n) + 1, [&](int64_t first, int64_t last) {
			std::vector<Candidate<std::decay_t<decltype(*out)>>> room;
			for (int64_t i = first; i < last; i++) {
				round_row(from.const_data_ptr<float>() + i * n, n, inwards, out + i * n, room);
			}
		});
	};
	AT_DISPATCH_V2(dtype, "balanced", AT_WRAP([&] { round(to.mutable_data_ptr<scalar_t>()); }), at::kBFloat16, at::kHalf, at::kChar);
	return to;
}

namespace {

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("balanced(Tensor weight, ScalarType dtype, bool inwards=False) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("balanced", balanced); }

}  // namespace
}  // namespace tg::convolution
