#include "update.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/tensor.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <limits>

#include "matrices.h"
#include "trial.h"
#include "weights.h"

namespace tg::matrices {
namespace {

using at::Tensor;

// Rule is an optimizer's with its numbers, as libtorch's fused kernels have it.
struct Rule {
	Update::Kind kind;
	bool maximize, nesterov = false;
	double lr, decay;
	double momentum = 0, dampening = 0;           // SGD's
	double beta1 = 0, beta2 = 0, epsilon = 0, at = 1;  // Adam's, and the number of the step

	bool has_mean() const { return kind != Update::sgd || momentum != 0; }

	// Rules with the same bits have the same operations.
	size_t bits() const {
		return static_cast<size_t>(kind) * 32 + maximize * 16 + nesterov * 8 + (decay != 0) * 4 + has_mean() * 2 + (1 - beta1 < 0.5);
	}

	Update update() const {
		Update u{kind, maximize, nesterov};
		u.decay = static_cast<float>(kind == Update::adamw ? 1 - lr * decay : decay);
		if (kind == Update::sgd) {
			u.kept = static_cast<float>(momentum), u.taken = static_cast<float>(1 - dampening), u.step = static_cast<float>(-lr);
			return u;
		}
		u.taken = static_cast<float>(1 - beta1), u.epsilon = static_cast<float>(epsilon);
		u.square_kept = static_cast<float>(beta2), u.square_taken = static_cast<float>(1 - beta2);
		u.square_scale = static_cast<float>(std::sqrt(1 - std::pow(beta2, at)));
		u.step = static_cast<float>(-(lr / (1 - std::pow(beta1, at))));
		return u;
	}

	void by_libtorch(const Tensor& param, const Tensor& gradient, const Tensor& mean, const Tensor& square) const {
		auto step = at::tensor(at, at::kFloat);
		switch (kind) {
		case Update::sgd:
			at::_fused_sgd_(param, gradient, has_mean() ? at::TensorList(mean) : at::TensorList(), decay, momentum, lr, dampening, nesterov,
			                maximize, false);
			break;
		case Update::adam:
			at::_fused_adam_(param, gradient, mean, square, {}, step, lr, beta1, beta2, decay, epsilon, false, maximize);
			break;
		case Update::adamw:
			at::_fused_adamw_(param, gradient, mean, square, {}, step, lr, beta1, beta2, decay, epsilon, false, maximize);
		}
	}
};

// The numbers of a vector of libtorch's, or of two. What a loop in vectors leaves is computed by another one, which may round otherwise.
constexpr int64_t whole = 16;

// Some numbers, among them those that round in odd ways.
Tensor numbers(uint64_t seed, bool positive) {
	constexpr int64_t n = 31 * whole;
	constexpr float odd[] = {0, -0.0F, std::numeric_limits<float>::infinity(), 1e-40F, 3e38F, 1e-20F, -1e-30F};
	auto t = at::empty({n}, at::kFloat);
	auto* to = t.mutable_data_ptr<float>();
	for (int64_t i = 0; i < n; i++) {
		const int32_t bits = made_up(seed);
		to[i] = bits % 8 == 0 ? odd[static_cast<size_t>(i) % std::size(odd)] : std::ldexp(static_cast<float>(bits), bits % 16 - 31);
		to[i] = positive ? std::abs(to[i]) : to[i];
	}
	return t;
}

void place(Update& u, const Tensor& param, const Tensor& mean, const Tensor& square) {
	u.param = param.mutable_data_ptr<float>();
	u.mean = mean.defined() ? mean.mutable_data_ptr<float>() : nullptr;
	u.square = square.defined() ? square.mutable_data_ptr<float>() : nullptr;
}

// Whether our kernels update as libtorch's do, which is tried.
bool tried(const Rule& rule) {
	const auto* k = convolution::best_processor();
	if (k == nullptr) {
		return false;
	}
	auto gradient = numbers(1, false), param = numbers(2, false), mean = numbers(3, false), square = numbers(4, true);
	auto want_param = param.clone(), want_mean = mean.clone(), want_square = square.clone();
	rule.by_libtorch(want_param, gradient.clone(), want_mean, want_square);
	Update u = rule.update();
	place(u, param, rule.has_mean() ? mean : Tensor(), rule.kind == Update::sgd ? Tensor() : square);
	k->update(u, gradient.const_data_ptr<float>(), param.numel());
	return same_bits(param, want_param) && same_bits(mean, want_mean) && same_bits(square, want_square);
}

bool equals_libtorch(const Rule& rule) {
	static std::array<Verdict, 96> verdicts;
	return verdicts[rule.bits()].holds([&] { return tried(rule); });
}

// Whether a state lies as numbers of a x b in rows would.
bool lies(const Tensor& t, int64_t rows, int64_t columns) {
	const bool fits = t.dim() == 2 && t.size(0) == rows && t.size(1) == columns && t.scalar_type() == at::kFloat && t.device().is_cpu();
	TORCH_CHECK_VALUE(fits, "expected parameters and states of float32 of ", rows, " x ", columns, " as the product, got ", t.sizes(), " of ",
	                  t.scalar_type());
	return t.is_contiguous() && !t.is_neg();
}

void step(const Rule& rule, const Tensor& param, const Tensor& a, const Tensor& b, const Tensor& mean, const Tensor& square) {
	TORCH_CHECK_VALUE(a.dim() == 2 && b.dim() == 2, "expected matrices, got ", a.sizes(), " and ", b.sizes());
	bool ours = param.numel() % whole == 0;
	for (const Tensor& state : {param, mean, square}) {
		ours &= !state.defined() || lies(state, a.size(0), b.size(1));
	}
	Update u = rule.update();
	if (ours) {
		place(u, param, mean, square);
	}
	if (!ours || !equals_libtorch(rule) || !multiply_into(u, a, b)) {
		rule.by_libtorch(param, matrices::mm(a, b), mean, square);
		return;
	}
	for (const Tensor& changed : {param, mean, square}) {
		if (changed.defined()) {
			changed.unsafeGetTensorImpl()->bump_version();
		}
	}
}

void sgd_by_product_(Tensor& param, const Tensor& a, const Tensor& b, const std::optional<Tensor>& mean, double weight_decay, double momentum,
                     const Tensor& lr, double dampening, bool nesterov, bool maximize) {
	TORCH_CHECK_VALUE(mean.has_value() == (momentum != 0), "a momentum has a buffer, and none has none");
	Rule rule{Update::sgd, maximize, nesterov, lr.item<double>(), weight_decay};
	rule.momentum = momentum, rule.dampening = dampening;
	step(rule, param, a, b, mean.value_or(Tensor()), {});
}

void adam_by_product_(Tensor& param, const Tensor& a, const Tensor& b, Tensor& mean, Tensor& square, const Tensor& at, bool adamw,
                      const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool maximize) {
	Rule rule{adamw ? Update::adamw : Update::adam, maximize, false, lr.item<double>(), weight_decay};
	rule.beta1 = beta1, rule.beta2 = beta2, rule.epsilon = eps, rule.at = at.item<double>();
	step(rule, param, a, b, mean, square);
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("sgd_by_product_(Tensor(a!) param, Tensor a, Tensor b, Tensor(b!)? mean, float weight_decay, float momentum, Tensor lr, "
	      "float dampening, bool nesterov, bool maximize) -> ()");
	m.def("adam_by_product_(Tensor(a!) param, Tensor a, Tensor b, Tensor(b!) mean, Tensor(c!) square, Tensor at, bool adamw, Tensor lr, "
	      "float beta1, float beta2, float weight_decay, float eps, bool maximize) -> ()");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("sgd_by_product_", sgd_by_product_);
	m.impl("adam_by_product_", adam_by_product_);
}

}  // namespace
}  // namespace tg::matrices
