#include "calculation.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace tg {

bool is_whole(const c10::IValue& v) {
	return v.isInt() || v.isBool();
}

int64_t whole(const c10::IValue& v) {
	TORCH_CHECK_TYPE(is_whole(v), "expected a whole number, got ", v.tagKind());
	return v.isBool() ? static_cast<int64_t>(v.toBool()) : v.toInt();
}

double number(const c10::IValue& v) {
	TORCH_CHECK_TYPE(is_whole(v) || v.isDouble(), "expected a number, got ", v.tagKind());
	return v.isDouble() ? v.toDouble() : static_cast<double>(whole(v));
}

bool truth(const c10::IValue& v) {
	TORCH_CHECK_TYPE(is_whole(v), "expected a condition, got ", v.tagKind());
	return whole(v) != 0;
}

namespace {

using c10::IValue;

[[noreturn]] void overflow() {
	TORCH_CHECK_VALUE(false, "the number is larger than 64 bits, or does not exist");
}

void refuse(bool overflowed) {
	if (overflowed) {
		overflow();
	}
}

int64_t add(int64_t a, int64_t b) {
	int64_t c = 0;
	refuse(__builtin_add_overflow(a, b, &c));
	return c;
}

int64_t subtract(int64_t a, int64_t b) {
	int64_t c = 0;
	refuse(__builtin_sub_overflow(a, b, &c));
	return c;
}

int64_t multiply(int64_t a, int64_t b) {
	int64_t c = 0;
	refuse(__builtin_mul_overflow(a, b, &c));
	return c;
}

int64_t floor_divide(int64_t a, int64_t b) {
	refuse(b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1));
	return a / b - static_cast<int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

int64_t floor_modulo(int64_t a, int64_t b) {
	refuse(b == 0);
	if (b == -1) {
		return 0;
	}
	int64_t m = a % b;
	return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

int64_t power(int64_t a, int64_t b) {
	constexpr int64_t kMost = 1 << 20;  // powers of one alone go on for long
	refuse(b < 0 || b > kMost);
	int64_t n = 1;
	for (int64_t i = 0; i < b; i++) {
		n = multiply(n, a);
	}
	return n;
}

int64_t shift_left(int64_t a, int64_t b) {
	refuse(b < 0 || b >= 63);
	return multiply(a, int64_t{1} << b);
}

int64_t shift_right(int64_t a, int64_t b) {
	refuse(b < 0);
	return a >> std::min<int64_t>(b, 63);
}

double add(double a, double b) { return a + b; }
double subtract(double a, double b) { return a - b; }
double multiply(double a, double b) { return a * b; }
double floor_divide(double a, double b) { return std::floor(a / b); }
double floor_modulo(double a, double b) { return a - b * std::floor(a / b); }
double power(double a, double b) { return std::pow(a, b); }

// What is no number is the greatest and the least.
template <class T>
T greatest(T a, T b) { return a != a || a > b ? a : b; }
template <class T>
T least(T a, T b) { return a != a || a < b ? a : b; }

// A function of two numbers: whole where both are.
template <int64_t (*ints)(int64_t, int64_t), double (*others)(double, double) = nullptr>
IValue arithmetic(const IValue* a) {
	if (is_whole(a[0]) && is_whole(a[1])) {
		return ints(whole(a[0]), whole(a[1]));
	}
	if constexpr (others == nullptr) {
		overflow();
	} else {
		return others(number(a[0]), number(a[1]));
	}
}

IValue true_divide(const IValue* a) {
	double by = number(a[1]);
	TORCH_CHECK_VALUE(by != 0, "division by zero");
	return number(a[0]) / by;
}

IValue truncate(const IValue* a) {
	if (is_whole(a[0])) {
		return whole(a[0]);
	}
	double x = number(a[0]);
	refuse(!(std::abs(x) < 0x1p63));
	return static_cast<int64_t>(x);
}

template <template <class> class Order>
IValue compare(const IValue* a) {
	if (is_whole(a[0]) && is_whole(a[1])) {
		return Order<int64_t>()(whole(a[0]), whole(a[1]));
	}
	return Order<double>()(number(a[0]), number(a[1]));
}

template <template <class> class Both>
IValue logical(const IValue* a) {
	bool first = truth(a[0]);
	return Both<bool>()(first, truth(a[1]));
}

}  // namespace

Calculation find_calculation(std::string_view name) {
	static const auto& all = *new std::unordered_map<std::string_view, Calculation>{
	    {"_operator.add", arithmetic<add, add>},
	    {"_operator.sub", arithmetic<subtract, subtract>},
	    {"_operator.mul", arithmetic<multiply, multiply>},
	    {"_operator.floordiv", arithmetic<floor_divide, floor_divide>},
	    {"_operator.mod", arithmetic<floor_modulo, floor_modulo>},
	    {"_operator.pow", arithmetic<power, power>},
	    {"_operator.lshift", arithmetic<shift_left>},
	    {"_operator.rshift", arithmetic<shift_right>},
	    {"torch.sym_max", arithmetic<greatest<int64_t>, greatest<double>>},
	    {"torch.sym_min", arithmetic<least<int64_t>, least<double>>},
	    {"_operator.truediv", true_divide},
	    {"_operator.eq", compare<std::equal_to>},
	    {"_operator.ne", compare<std::not_equal_to>},
	    {"_operator.lt", compare<std::less>},
	    {"_operator.le", compare<std::less_equal>},
	    {"_operator.gt", compare<std::greater>},
	    {"_operator.ge", compare<std::greater_equal>},
	    {"_operator.and_", logical<std::logical_and>},
	    {"_operator.or_", logical<std::logical_or>},
	    {"_operator.neg", [](const IValue* a) { return is_whole(a[0]) ? IValue(subtract(int64_t{0}, whole(a[0]))) : IValue(0 - number(a[0])); }},
	    {"_operator.pos", [](const IValue* a) { return a[0]; }},
	    {"torch.sym_not", [](const IValue* a) { return IValue(!truth(a[0])); }},
	    {"torch.sym_float", [](const IValue* a) { return IValue(number(a[0])); }},
	    {"torch.sym_int", truncate},
	    {"math.trunc", truncate},
	    {"torch.sym_sqrt", [](const IValue* a) { return IValue(std::sqrt(number(a[0]))); }},
	    {"torch.sym_ite", [](const IValue* a) { return truth(a[0]) ? a[1] : a[2]; }},
	};
	auto at = all.find(name);
	TORCH_CHECK_NOT_IMPLEMENTED(at != all.end(), "there is no function of numbers ", name);
	return at->second;
}

}  // namespace tg
