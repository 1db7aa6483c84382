#include "optimizers.h"

#include <ATen/ops/_fused_adam_cpu_dispatch.h>
#include <ATen/ops/_fused_adamw_cpu_dispatch.h>
#include <ATen/ops/_fused_sgd_cpu_dispatch.h>

#include <algorithm>
#include <array>
#include <vector>

#include "plain.h"
#include "rule.h"
#include "weights.h"

namespace tg::optimizers {
namespace {

using matrices::Rule;
using matrices::Update;

double number(double x) { return x; }
double number(const Tensor& x) { return matrices::number(x); }

// What belongs to each parameter: itself, its gradient, what SGD or Adam keeps, and Adam's number of the step.
using Lists = std::array<TensorList, 5>;
using Rest = std::array<std::vector<Tensor>, 5>;

// Updates the k-th parameter, if that is one of few numbers and our kernels do it as libtorch's.
bool update(Rule& rule, const Lists& lists, size_t k) {
	constexpr int64_t few = 1 << 12;  // numbers: those of more are worth threads
	const Tensor& param = lists[0][k];
	const int64_t n = param.numel();
	bool ours = n > 0 && n <= few;
	for (size_t i = 0; i < 4 && ours; i++) {
		ours = lists[i].empty() || is_plain(lists[i][k], param.sizes());
	}
	if (!ours || !rule.equals_libtorch(n % matrices::whole != 0)) {
		return false;
	}
	if (rule.has_square()) {
		rule.at = matrices::number(lists[4][k]);
	}
	Update u = rule.update();
	matrices::place(u, param, rule.has_mean() ? lists[2][k] : Tensor(), rule.has_square() ? lists[3][k] : Tensor());
	convolution::best_processor()->update(u, lists[1][k].const_data_ptr<float>(), n);
	return true;
}

// Updates what our kernels update, and leaves the others. Lists that do not fit are libtorch's to refuse.
Rest update_some(Rule& rule, const Lists& lists) {
	Rest rest;
	const bool fit = std::all_of(lists.begin(), lists.end(), [&](const TensorList& l) { return l.empty() || l.size() == lists[0].size(); });
	for (size_t k = 0; k < lists[0].size(); k++) {
		if (fit && update(rule, lists, k)) {
			continue;
		}
		for (size_t i = 0; i < lists.size(); i++) {
			if (k < lists[i].size()) {
				rest[i].push_back(lists[i][k]);
			}
		}
	}
	return rest;
}

}  // namespace

template <class Rate>
void fused_sgd_(TensorList params, TensorList gradients, TensorList means, double weight_decay, double momentum, Rate lr, double dampening,
                bool nesterov, bool maximize, bool is_first_step, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
	auto by_libtorch = [&](TensorList p, TensorList g, TensorList m) {
		at::cpu::_fused_sgd_(p, g, m, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step, grad_scale, found_inf);
	};
	if (grad_scale || found_inf || is_first_step || means.empty() != (momentum == 0) || gradients.size() != params.size()) {
		return by_libtorch(params, gradients, means);
	}
	Rule rule{Update::sgd, maximize, nesterov, number(lr), weight_decay};
	rule.momentum = momentum, rule.dampening = dampening;
	if (const Rest rest = update_some(rule, {params, gradients, means}); !rest[0].empty()) {
		by_libtorch(rest[0], rest[1], rest[2]);
	}
}

template <bool Decoupled, class Rate>
void fused_adam_(TensorList params, TensorList gradients, TensorList means, TensorList squares, TensorList largest, TensorList steps, Rate lr,
                 double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                 const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
	auto by_libtorch = [&](TensorList p, TensorList g, TensorList m, TensorList s, TensorList at) {
		auto run = [&](auto kernel) {
			kernel(p, g, m, s, largest, at, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
		};
		Decoupled ? run([](const auto&... all) { at::cpu::_fused_adamw_(all...); }) : run([](const auto&... all) { at::cpu::_fused_adam_(all...); });
	};
	const Lists lists{params, gradients, means, squares, steps};
	const bool all = std::none_of(lists.begin(), lists.end(), [](const TensorList& l) { return l.empty(); });
	if (grad_scale || found_inf || amsgrad || !largest.empty() || !all) {
		return by_libtorch(params, gradients, means, squares, steps);
	}
	Rule rule{Decoupled ? Update::adamw : Update::adam, maximize, false, number(lr), weight_decay};
	rule.beta1 = beta1, rule.beta2 = beta2, rule.epsilon = eps;
	if (const Rest rest = update_some(rule, lists); !rest[0].empty()) {
		by_libtorch(rest[0], rest[1], rest[2], rest[3], rest[4]);
	}
}

#define RATE(Rate)                                                                                                                         \
	template void fused_sgd_<Rate>(TensorList, TensorList, TensorList, double, double, Rate, double, bool, bool, bool,                     \
	                               const std::optional<Tensor>&, const std::optional<Tensor>&);                                           \
	template void fused_adam_<false, Rate>(TensorList, TensorList, TensorList, TensorList, TensorList, TensorList, Rate, double, double,   \
	                                       double, double, bool, bool, const std::optional<Tensor>&, const std::optional<Tensor>&);        \
	template void fused_adam_<true, Rate>(TensorList, TensorList, TensorList, TensorList, TensorList, TensorList, Rate, double, double,    \
	                                      double, double, bool, bool, const std::optional<Tensor>&, const std::optional<Tensor>&)
RATE(double);
RATE(const Tensor&);
#undef RATE

}  // namespace tg::optimizers
