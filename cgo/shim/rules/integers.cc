// Integers: processors trap where a quotient does not fit, and there is no step of 0.
#include "rules.h"

#include <ATen/native/TypeProperties.h>

#include <functional>

namespace tg::rule {
namespace {

// least_of is the smallest number of an integer type that processors divide in; 0 for others.
int64_t least_of(at::ScalarType type) {
	switch (type) {
		case at::kLong: return std::numeric_limits<int64_t>::min();
		case at::kInt: return std::numeric_limits<int32_t>::min();
		default: return 0;
	}
}

at::ScalarType result_of(const Tensor& a, const Tensor& b) {
	at::native::ResultTypeState state;
	state = at::native::update_result_type_state(a, state);
	return at::native::result_type(at::native::update_result_type_state(b, state));
}

bool contains(const Tensor& t, int64_t v) {
	return with_integers(t, [&](auto zero) {
		using T = decltype(zero);
		return static_cast<int64_t>(static_cast<T>(v)) == v && (std::is_signed_v<T> || v >= 0) &&
		       any<T>(t, [&](T x) { return x == static_cast<T>(v); });
	});
}

// reader is what reads one element of t.
auto reader(const Tensor& t) {
	return with_integers(t, [](auto zero) -> int64_t (*)(const char*) {
		return [](const char* at) { return static_cast<int64_t>(*reinterpret_cast<const decltype(zero)*>(at)); };
	});
}

[[noreturn]] void past(int64_t least, at::ScalarType type) {
	TORCH_CHECK_VALUE(false, "integer overflow: ", least, " divided by -1 is past the largest ", type == at::kLong ? "int64" : "int32");
}

// meets tells whether asked is true of elements of x and other that meet where these are
// broadcast against each other.
bool meets(const Tensor& x, const Tensor& other, const std::function<bool(int64_t, int64_t)>& asked) {
	auto a = reader(x), b = reader(other);
	bool found = false;
	each_pair(x, other, [&](const char* p, const char* q) {
		found = asked(a(p), b(q));
		return !found;
	});
	return found;
}

// pair tells whether two tensors of integers can be held against each other, element by element.
bool pair(const Tensor& x, const Tensor& other) {
	return on_host(x) && on_host(other) && integral(x) && integral(other) && x.numel() > 0 && other.numel() > 0 && fit(x, other);
}

}  // namespace

// Other integers are divided in a wider type, and rounding down is computed otherwise.
void quotient(const Tensor& given, const Tensor& by, Mode mode) {
	if (mode != "trunc" || !pair(given, by)) {
		return;
	}
	auto x = plain(given), other = plain(by);
	auto type = result_of(x, other);
	auto least = least_of(type);
	if (least == 0 || !contains(other, -1) || !contains(x, least)) {
		return;
	}
	if (meets(x, other, [=](int64_t a, int64_t b) { return a == least && b == -1; })) {
		past(least, type);
	}
}

void quotient(const Tensor& x, const Scalar& other, Mode mode) {
	if (mode != "trunc" || !on_host(x) || !integral(x) || !other.isIntegral(false) || other.isUnsigned() || other.toLong() != -1) {
		return;
	}
	auto least = least_of(x.scalar_type());
	if (least != 0 && contains(x, least)) {
		past(least, x.scalar_type());
	}
}

// Sums of windows are divided by it, and a sum may be the least number where no element is.
void divides_sums(const Tensor& x, std::optional<int64_t> by) {
	TORCH_CHECK_VALUE(by != -1 || !x.defined() || least_of(x.scalar_type()) == 0, "expected a divisor_override other than -1 for dtype ", x.scalar_type(),
	                  ", whose least number has no negative");
}

namespace {

// The greatest common divisor as libtorch computes it: negative for some pairs with the least.
template <class T>
T divisor(T a, T b) {
	a = a < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)) : a;
	b = b < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(b)) : b;
	while (a != 0) {
		T c = a;
		a = a == -1 ? 0 : b % a;
		b = c;
	}
	return b;
}

template <class T>
bool traps(T a, T b) {
	return a == std::numeric_limits<T>::min() && divisor(a, b) == -1;
}

}  // namespace

// The least common multiple divides by the greatest common divisor.
void multiple(const Tensor& given, const Tensor& by) {
	if (!pair(given, by)) {
		return;
	}
	auto x = plain(given), other = plain(by);
	auto type = result_of(x, other);
	auto least = least_of(type);
	if (least == 0 || !contains(x, least)) {
		return;
	}
	bool found = meets(x, other, [&](int64_t a, int64_t b) {
		return type == at::kLong ? traps(a, b) : traps(static_cast<int32_t>(a), static_cast<int32_t>(b));
	});
	TORCH_CHECK_VALUE(!found, "integer overflow: the least common multiple of ", least, " and another number is past the largest ",
	                  type == at::kLong ? "int64" : "int32");
}

// In integers a step is cut to an integer, by which libtorch divides.
void step(const Scalar& step, std::optional<at::ScalarType> dtype, const Tensor& out) {
	auto type = dtype ? *dtype : out.defined() ? out.scalar_type() : at::ScalarType::Undefined;
	auto cut = step.toComplexDouble().real();
	bool fraction = step.isFloatingPoint() || step.isComplex();
	TORCH_CHECK(!fraction || !at::isIntegralType(type, true) || std::abs(cut) >= 1, "step must be nonzero, but ", cut, " is 0 in ", type);
}

// From start to end libtorch counts in 64 bits.
void span(const Scalar& start, const Scalar& end, const Scalar& step) {
	if (!start.isIntegral(false) || !end.isIntegral(false) || !step.isIntegral(false)) {
		return;
	}
	int64_t n = 0;
	bool past = __builtin_sub_overflow(end.toLong(), start.toLong(), &n) || __builtin_add_overflow(n, step.toLong(), &n) || n == std::numeric_limits<int64_t>::min();
	TORCH_CHECK_VALUE(!past, "from ", start.toLong(), " to ", end.toLong(), " there are more numbers than can be counted");
}

// For floating-point numbers without an end libtorch looks for the next number after from.
void range(const Tensor& x, int64_t from, std::optional<int64_t> to) {
	TORCH_CHECK(to || from != std::numeric_limits<int64_t>::max() || integral(x), "from has to be less than ", from);
}

// A tensor has at most so many dimensions, and one is made for each element.
void combined(int64_t r) {
	TORCH_CHECK_VALUE(r <= 64, "combinations of ", r, " elements are too many: at most 64");
}

// One number has no absolute value.
void exponent(int64_t n) {
	TORCH_CHECK_VALUE(n != std::numeric_limits<int64_t>::min(), "the exponent ", n, " is too small");
}

}  // namespace tg::rule
