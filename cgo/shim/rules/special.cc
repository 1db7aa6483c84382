// Functions that are computed by counting: to a degree, or until something happens.
#include "rules.h"

#include <ATen/core/Formatting.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace tg::rule {
namespace {

// most bounds polynomials that libtorch computes one degree after the other: it is where
// float32 runs out of integers. All elements together may take most_steps.
constexpr double most = 1 << 24;
constexpr double most_steps = 1e11;

// with_reals calls f with a zero of the type of t's elements, for real numbers.
template <class F>
void with_reals(const Tensor& t, F&& f) {
	switch (t.scalar_type()) {
		case at::kDouble: return f(double{});
		case at::kFloat: return f(float{});
		case at::kHalf: return f(at::Half{});
		case at::kBFloat16: return f(at::BFloat16{});
		case at::kBool: return f(bool{});
		default:
			if (integral(t)) {
				with_integers(t, f);
			}
	}
}

void check_steps(double degree, double elements) {
	TORCH_CHECK_VALUE(degree * elements <= most_steps, "a polynomial of degree ", static_cast<int64_t>(degree), " of ", static_cast<int64_t>(elements),
	                  " elements takes more than ", static_cast<int64_t>(most_steps), " steps");
}

// bounded looks at the degrees for so many elements.
void bounded(const Tensor& n, double elements) {
	if (!on_host(n)) {
		return;
	}
	double sum = 0;
	auto p = plain(n);
	with_reals(p, [&](auto zero) {
		using T = decltype(zero);
		bool large = any<T>(p, [&](T v) {
			auto d = static_cast<double>(v);
			sum += d > 0 && d <= most ? d : 0;
			return d > most;
		});
		TORCH_CHECK_VALUE(!large, "the degree n is at most ", static_cast<int64_t>(most));
	});
	if (n.numel() > 0) {
		check_steps(sum / static_cast<double>(n.numel()), std::max(elements, static_cast<double>(n.numel())));
	}
}

double elements_of(const Tensor& t) {
	return has(t) ? static_cast<double>(t.numel()) : 0;
}

}  // namespace

void degree(const Tensor& x, const Tensor& n) {
	bounded(n, elements_of(x));
}

void degree(const Scalar&, const Tensor& n) {
	bounded(n, elements_of(n));
}

void degree(const Tensor& x, const Scalar& n) {
	if (n.isComplex()) {
		return;
	}
	auto d = n.toDouble();
	TORCH_CHECK_VALUE(!(d > most), "the degree n is at most ", static_cast<int64_t>(most), ", but got ", n);
	if (d > 0) {
		check_steps(d, elements_of(x));
	}
}

// The search for NaN successes never ends.
void trials(const Tensor& count) {
	if (on_host(count) && at::isFloatingType(count.scalar_type())) {
		with_reals(count, [&](auto zero) {
			using T = decltype(zero);
			bool nan = any<T>(count, [](T v) { return v != v; });
			TORCH_CHECK_VALUE(!nan, "count contains NaN");
		});
	}
}

}  // namespace tg::rule
