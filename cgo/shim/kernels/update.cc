// What an optimizer does with the gradient that a product of matrices makes, as operators.
#include <torch/library.h>

#include <optional>

#include "matrices.h"
#include "rule.h"

namespace tg::matrices {
namespace {

using at::Tensor;

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
	if (!ours || !rule.equals_libtorch(false) || !multiply_into(u, a, b)) {
		rule.by_libtorch(param, matrices::mm(a, b), mean, square);
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
	Rule rule{Update::sgd, maximize, nesterov, number(lr), weight_decay};
	rule.momentum = momentum, rule.dampening = dampening;
	step(rule, param, a, b, mean.value_or(Tensor()), {});
}

void adam_by_product_(Tensor& param, const Tensor& a, const Tensor& b, Tensor& mean, Tensor& square, const Tensor& at, bool adamw,
                      const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool maximize) {
	Rule rule{adamw ? Update::adamw : Update::adam, maximize, false, number(lr), weight_decay};
	rule.beta1 = beta1, rule.beta2 = beta2, rule.epsilon = eps, rule.at = number(at);
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
