// Autograd: running the graph backwards and reaching gradients.
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include "entries.h"

namespace tg::entry {

// backward(roots, root gradients, retain_graph?, create_graph, inputs)
void backward(Args& a, Results&) {
	auto roots = a.variables();
	auto gradients = a.variables();
	auto retain = a.opt_boolean();
	bool create = a.boolean();
	torch::autograd::backward(roots, gradients, retain, create, a.variables());
}

// grad(outputs, inputs, output gradients, retain_graph?, create_graph, allow_unused) -> gradients
void grad(Args& a, Results& r) {
	auto outputs = a.variables();
	auto inputs = a.variables();
	auto gradients = a.variables();
	auto retain = a.opt_boolean();
	bool create = a.boolean();
	r.tensors(torch::autograd::grad(outputs, inputs, gradients, retain, create, a.boolean()));
}

// gradients(tensors) -> their .grad, undefined where there is none
void gradients(Args& a, Results& r) {
	std::vector<at::Tensor> list;
	for (uint64_t n = a.next(); n > 0; n--) {
		list.push_back(a.tensor().grad());
	}
	r.tensors(std::move(list));
}

// clear_gradients(tensors): .grad = undefined, for all in one call
void clear_gradients(Args& a, Results&) {
	for (uint64_t n = a.next(); n > 0; n--) {
		const auto& t = a.tensor();
		if (t.grad().defined()) {
			t.mutable_grad().reset();
		}
	}
}

void set_gradient(Args& a, Results&) {
	const auto& t = a.tensor();
	const auto& g = a.tensor();
	if (g.defined()) {
		TORCH_CHECK(g.sizes() == t.sizes(), "a gradient of shape ", g.sizes(), " does not fit a tensor of shape ", t.sizes());
		TORCH_CHECK_TYPE(g.scalar_type() == t.scalar_type(), "a gradient of dtype ", g.scalar_type(), " does not fit a tensor of dtype ",
		                 t.scalar_type());
		TORCH_CHECK(g.device() == t.device(), "a gradient on ", g.device(), " does not fit a tensor on ", t.device());
	}
	t.mutable_grad() = g;
}

void set_requires_grad(Args& a, Results&) {
	const auto& t = a.tensor();
	bool requires_grad = a.boolean();
	TORCH_CHECK(t.is_leaf() || requires_grad,
	            "requires_grad of a tensor that is not a leaf can only be set to true; use Detach to get one without history");
	t.set_requires_grad(requires_grad);
}

void retain_grad(Args& a, Results&) {
	a.tensor().retain_grad();
}

// grad_fn(t) -> the name of the node that made t, "" for a leaf
void grad_fn(Args& a, Results& r) {
	auto node = a.tensor().grad_fn();
	r.string(node ? node->name() : "");
}

// replace_data(t, source): t takes over source's storage, shape and dtype; whoever holds t
// (an optimizer, another module) sees the change. Autograd does not.
void replace_data(Args& a, Results&) {
	const auto& t = a.tensor();
	t.set_data(a.tensor());
}

}  // namespace tg::entry
