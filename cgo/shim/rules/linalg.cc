// LAPACK reads outside of memory over some numbers.
#include "rules.h"

#include <cmath>

namespace tg::rule {

namespace {

template <class T>
bool holds_infinite(const Tensor& x) {
	return any<T>(x, [](const T& v) {
		if constexpr (c10::is_complex<T>::value) {
			return !std::isfinite(v.real()) || !std::isfinite(v.imag());
		} else {
			return !std::isfinite(v);
		}
	});
}

}  // namespace

void finite(const Tensor& x) {
	if (!on_host(x)) {
		return;
	}
	bool bad = false;
	switch (x.scalar_type()) {
		case at::kFloat: bad = holds_infinite<float>(x); break;
		case at::kDouble: bad = holds_infinite<double>(x); break;
		case at::kComplexFloat: bad = holds_infinite<c10::complex<float>>(x); break;
		case at::kComplexDouble: bad = holds_infinite<c10::complex<double>>(x); break;
		default: break;
	}
	TORCH_CHECK_LINALG(!bad, "input tensor should not contain infs or NaNs.");
}

void hermitian(const Tensor& x, bool hermitian) {
	if (hermitian) {
		finite(x);
	}
}

// Rows that are not there, and a 2 x 2 block of which a half is missing, are swapped unseen.
void pivots(const Tensor& pivots) {
	if (!on_host(pivots) || pivots.dim() == 0 || !integral(pivots)) {
		return;
	}
	auto n = pivots.size(-1);
	bool half = false;
	auto list = values(pivots);
	for (size_t i = 0; i < list.size(); i++) {
		auto p = list[i];
		bool last = static_cast<int64_t>(i) % n == n - 1;
		TORCH_CHECK_INDEX(p != 0 && p <= n && p >= -n, "pivots have to be between 1 and ", n, ", or between -", n, " and -1, but got ", p);
		TORCH_CHECK_INDEX(!(p > 0 && half) && !(p < 0 && !half && last), "negative pivots have to come in pairs");
		half = p < 0 && !half;
	}
}

// There is a pivot for each row or column, whichever are fewer, of each matrix.
void lu_pivots(const Tensor& lu, const Tensor& pivots, bool wanted) {
	if (!wanted || !has(lu) || !has(pivots) || lu.dim() < 2) {
		return;
	}
	auto want = lu.sizes().slice(0, lu.dim() - 2).vec();
	want.push_back(std::min(lu.size(-2), lu.size(-1)));
	TORCH_CHECK(pivots.sizes() == IntArrayRef(want), "Expected pivots of size ", IntArrayRef(want), ", but got ", pivots.sizes());
}

}  // namespace tg::rule
