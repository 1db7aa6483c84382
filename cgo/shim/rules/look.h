// How rules look at tensors: at sizes wherever the tensor is, at elements on the CPU only,
// because elsewhere the caller would wait for the device. They read memory and run no
// operators, so nothing is recorded, cast or profiled.
#pragma once

#include <c10/core/GradMode.h>
#include <c10/util/complex.h>
#include <c10/util/irange.h>

#include <functional>
#include <limits>

#include "wire.h"

namespace tg::rule {

// on_host tells whether the elements can be read: dense ones, on the CPU, that are there.
bool on_host(const at::Tensor& t);

// has tells whether sizes and strides can be asked for.
inline bool has(const at::Tensor& t) {
	return t.defined() && !t.is_nested();
}

// recorded tells whether autograd keeps what is done with the tensor.
inline bool recorded(const at::Tensor& t) {
	return c10::GradMode::is_enabled() && learns(t);
}

inline bool integral(const at::Tensor& t) {
	return t.defined() && at::isIntegralType(t.scalar_type(), /*includeBool=*/false);
}

// values are the elements on the host as integers, in order.
std::vector<int64_t> values(const at::Tensor& t);

// plain is the tensor without the bits of a conjugate or negative view.
at::Tensor plain(const at::Tensor& t);

// any tells whether asked is true of an element of type T. Repeated elements are seen once.
template <class T, class F>
bool any(const at::Tensor& t, F&& asked) {
	if (t.numel() == 0) {
		return false;
	}
	std::vector<int64_t> sizes, strides;
	for (auto d : c10::irange(t.dim())) {
		if (t.size(d) > 1 && t.stride(d) != 0) {
			sizes.push_back(t.size(d));
			strides.push_back(t.stride(d));
		}
	}
	auto at = static_cast<const T*>(t.const_data_ptr());
	int64_t inner = sizes.empty() ? 1 : sizes.back(), step = sizes.empty() ? 1 : strides.back();
	std::vector<int64_t> index(sizes.size());
	for (;;) {
		for (int64_t i = 0; i < inner; i++) {
			if (asked(at[i * step])) {
				return true;
			}
		}
		int64_t d = static_cast<int64_t>(sizes.size()) - 2;
		for (; d >= 0; d--) {
			at += strides[d];
			if (++index[d] < sizes[d]) {
				break;
			}
			at -= strides[d] * sizes[d];
			index[d] = 0;
		}
		if (d < 0) {
			return false;
		}
	}
}

// within tells whether no element on the host is NaN or larger than that; finite, whether none
// is infinite.
bool within(const at::Tensor& t, double most);
inline bool finite(const at::Tensor& t) { return within(t, std::numeric_limits<double>::max()); }

// fit tells whether shapes can be broadcast against each other.
bool fit(const at::Tensor& a, const at::Tensor& b);

// each_pair calls f with where elements of a and b lie, broadcast against each other, until it
// returns false. The shapes have to fit.
void each_pair(const at::Tensor& a, const at::Tensor& b, const std::function<bool(const char*, const char*)>& f);

// with_integers calls f with a zero of the type of t's elements, for tensors of integers.
template <class F>
auto with_integers(const at::Tensor& t, F&& f) {
	switch (t.scalar_type()) {
		case at::kByte: return f(uint8_t{});
		case at::kChar: return f(int8_t{});
		case at::kShort: return f(int16_t{});
		case at::kInt: return f(int32_t{});
		case at::kLong: return f(int64_t{});
		case at::kUInt16: return f(uint16_t{});
		case at::kUInt32: return f(uint32_t{});
		case at::kUInt64: return f(uint64_t{});
		default: TORCH_CHECK_TYPE(false, "expected integers, got ", t.scalar_type());
	}
}

// times and plus compute in 64 bits and tell of an overflow.
inline bool overflows(int64_t a, int64_t b, int64_t* product) {
	return __builtin_mul_overflow(a, b, product);
}

}  // namespace tg::rule
