#include "rule.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_fused_adam_cpu_dispatch.h>
#include <ATen/ops/_fused_adamw_cpu_dispatch.h>
#include <ATen/ops/_fused_sgd_cpu_dispatch.h>

#include <array>
#include <cmath>
#include <limits>

#include "trial.h"
#include "weights.h"

namespace tg::matrices {
namespace {

using at::Tensor;

Tensor room(int64_t n) { return at::detail::empty_cpu({n}, at::kFloat); }

Tensor copy(const Tensor& t) {
	auto to = room(t.numel());
	memcpy(to.mutable_data_ptr<float>(), t.const_data_ptr<float>(), t.nbytes());
	return to;
}

// Some numbers, among them those that round in odd ways.
Tensor numbers(int64_t n, uint64_t seed, bool positive) {
	constexpr float odd[] = {0, -0.0F, std::numeric_limits<float>::infinity(), 1e-40F, 3e38F, 1e-20F, -1e-30F};
	auto t = room(n);
	auto* to = t.mutable_data_ptr<float>();
	for (int64_t i = 0; i < n; i++) {
		const int32_t bits = made_up(seed);
		to[i] = bits % 8 == 0 ? odd[static_cast<size_t>(i) % std::size(odd)] : std::ldexp(static_cast<float>(bits), bits % 16 - 31);
		to[i] = positive ? std::abs(to[i]) : to[i];
	}
	return t;
}

bool tried(const Rule& rule, int64_t n, uint64_t seed) {
	const auto* k = convolution::best_processor();
	if (k == nullptr) {
		return false;
	}
	auto gradient = numbers(n, seed + 1, false), param = numbers(n, seed + 2, false), mean = numbers(n, seed + 3, false),
	     square = numbers(n, seed + 4, true);
	auto want_param = copy(param), want_mean = copy(mean), want_square = copy(square);
	rule.by_libtorch(want_param, copy(gradient), want_mean, want_square);
	Update u = rule.update();
	place(u, param, rule.has_mean() ? mean : Tensor(), rule.has_square() ? square : Tensor());
	k->update(u, gradient.const_data_ptr<float>(), n);
	return same_bits(param, want_param) && same_bits(mean, want_mean) && same_bits(square, want_square);
}

}  // namespace

Update Rule::update() const {
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

void Rule::by_libtorch(const Tensor& param, const Tensor& gradient, const Tensor& mean, const Tensor& square) const {
	if (kind == Update::sgd) {
		at::cpu::_fused_sgd_(param, gradient, has_mean() ? at::TensorList(mean) : at::TensorList(), decay, momentum, lr, dampening, nesterov,
		                     maximize, false);
		return;
	}
	auto step = room(1);
	*step.mutable_data_ptr<float>() = static_cast<float>(at);
	auto run = [&](auto... all) {
		kind == Update::adam ? at::cpu::_fused_adam_(all...) : at::cpu::_fused_adamw_(all...);
	};
	run(at::TensorList(param), at::TensorList(gradient), at::TensorList(mean), at::TensorList(square), at::TensorList(), at::TensorList(step), lr,
	    beta1, beta2, decay, epsilon, false, maximize);
}

// Rules with the same operations have one verdict.
bool Rule::equals_libtorch(bool all) const {
	constexpr uint64_t times = 64;  // that numbers which fill no vector are tried: of few, each odd one tells
	static std::array<Verdict, 96> verdicts[2];
	const size_t bits = kind * 32 + maximize * 16 + nesterov * 8 + (decay != 0) * 4 + has_mean() * 2 + (1 - beta1 < 0.5);
	return verdicts[all][bits].holds([&] {
		bool same = tried(*this, 31 * whole, 0);
		for (uint64_t i = 0; all && same && i < times; i++) {
			same = tried(*this, whole - 1, 4 * i);
		}
		return same;
	});
}

void place(Update& u, const Tensor& param, const Tensor& mean, const Tensor& square) {
	u.param = param.mutable_data_ptr<float>();
	u.mean = mean.defined() ? mean.mutable_data_ptr<float>() : nullptr;
	u.square = square.defined() ? square.mutable_data_ptr<float>() : nullptr;
}

double number(const Tensor& t) {
	if (t.device().is_cpu() && t.layout() == at::kStrided && t.numel() == 1 && !t.is_neg()) {
		if (t.scalar_type() == at::kFloat) {
			return *t.const_data_ptr<float>();
		}
		if (t.scalar_type() == at::kDouble) {
			return *t.const_data_ptr<double>();
		}
	}
	return t.item<double>();
}

}  // namespace tg::matrices
