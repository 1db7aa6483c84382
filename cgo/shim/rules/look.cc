#include "look.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/resolve_conj.h>
#include <ATen/ops/resolve_neg.h>

#include <cmath>

namespace tg::rule {

bool on_host(const at::Tensor& t) {
	return t.defined() && t.device().is_cpu() && t.layout() == at::kStrided && !t.is_nested() && t.has_storage() &&
	       (t.numel() == 0 || t.storage().data() != nullptr);
}

bool within(const at::Tensor& t, double most) {
	auto past = [&](auto zero) {
		using T = decltype(zero);
		return any<T>(t, [=](const T& v) {
			if constexpr (c10::is_complex<T>::value) {
				return !(std::abs(v.real()) <= most) || !(std::abs(v.imag()) <= most);
			} else {
				return !(std::abs(v) <= most);
			}
		});
	};
	switch (t.scalar_type()) {
		case at::kFloat: return !past(float{});
		case at::kDouble: return !past(double{});
		case at::kComplexFloat: return !past(c10::complex<float>{});
		case at::kComplexDouble: return !past(c10::complex<double>{});
		default: return true;
	}
}

at::Tensor plain(const at::Tensor& t) {
	if (!t.is_neg() && !t.is_conj()) {
		return t;
	}
	at::AutoDispatchBelowAutograd guard;
	return t.resolve_conj().resolve_neg();
}

std::vector<int64_t> values(const at::Tensor& given) {
	auto t = plain(given);
	if (!integral(t)) {
		at::AutoDispatchBelowAutograd guard;
		t = t.to(at::kLong);
	}
	std::vector<int64_t> list;
	list.reserve(t.numel());
	if (t.numel() == 0) {
		return list;
	}
	std::vector<int64_t> index(t.dim());
	with_integers(t, [&](auto zero) {
		using T = decltype(zero);
		auto at = static_cast<const T*>(t.const_data_ptr());
		for (;;) {
			list.push_back(static_cast<int64_t>(*at));
			int64_t d = t.dim() - 1;
			for (; d >= 0; d--) {
				at += t.stride(d);
				if (++index[d] < t.size(d)) {
					break;
				}
				at -= t.stride(d) * t.size(d);
				index[d] = 0;
			}
			if (d < 0) {
				return;
			}
		}
	});
	return list;
}

bool fit(const at::Tensor& a, const at::Tensor& b) {
	for (int64_t i = 1; i <= std::min(a.dim(), b.dim()); i++) {
		auto m = a.size(-i), n = b.size(-i);
		if (m != n && m != 1 && n != 1) {
			return false;
		}
	}
	return true;
}

void each_pair(const at::Tensor& a, const at::Tensor& b, const std::function<bool(const char*, const char*)>& f) {
	int64_t dims = std::max(a.dim(), b.dim());
	std::vector<int64_t> sizes(dims, 1), as(dims, 0), bs(dims, 0), index(dims);
	auto take = [&](const at::Tensor& t, std::vector<int64_t>& strides) {
		for (auto d : c10::irange(t.dim())) {
			auto at = dims - t.dim() + d;
			if (t.size(d) != 1) {
				sizes[at] = t.size(d);
				strides[at] = t.stride(d) * static_cast<int64_t>(t.element_size());
			}
		}
	};
	take(a, as);
	take(b, bs);
	if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
		return;
	}
	auto pa = static_cast<const char*>(a.const_data_ptr());
	auto pb = static_cast<const char*>(b.const_data_ptr());
	while (f(pa, pb)) {
		int64_t d = dims - 1;
		for (; d >= 0; d--) {
			pa += as[d];
			pb += bs[d];
			if (++index[d] < sizes[d]) {
				break;
			}
			pa -= as[d] * sizes[d];
			pb -= bs[d] * sizes[d];
			index[d] = 0;
		}
		if (d < 0) {
			return;
		}
	}
}

}  // namespace tg::rule
