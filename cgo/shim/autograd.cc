// Autograd: running the graph backwards and reaching gradients.
#include <ATen/ops/is_same_size.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <mutex>

#include "compat.h"
#include "entries.h"

namespace tg::entry {

namespace {

using SharedNode = NodePtr<torch::autograd::Node>;

// owned_node is a handle of the node and its address.
std::array<uint64_t, 2> owned_node(SharedNode node) {
	if (!node) {
		return {0, 0};
	}
	auto address = reinterpret_cast<uint64_t>(node.get());
	auto made = c10::make_intrusive<Object<SharedNode>>(std::move(node));
	return {reinterpret_cast<uint64_t>(static_cast<c10::intrusive_ptr_target*>(made.release())), address};
}

// The checks that Python makes before it starts the engine, which sums a gradient of another
// shape up to the one it needs.
void check_gradient(const at::Tensor& out, const at::Tensor& grad, size_t i) {
	if (!grad.defined()) {
		if (!out.requires_grad()) {
			return;  // the engine complains of it
		}
		TORCH_CHECK(out.numel() == 1, "grad can be implicitly created only for scalar outputs");
		TORCH_CHECK(at::isFloatingType(out.scalar_type()), "grad can be implicitly created only for real scalar outputs but got torch.",
		            c10::getDtypeNames(out.scalar_type()).first);
		return;
	}
	if (out.is_nested()) {
		TORCH_CHECK(at::is_same_size(out, grad), "Mismatch in shape: grad_output[", i, "] has a shape of ", grad._nested_tensor_size(),
		            " and output[", i, "] has a shape of ", out._nested_tensor_size(), ".");
	} else {
		TORCH_CHECK(out.sizes() == grad.sizes(), "Mismatch in shape: grad_output[", i, "] has a shape of torch.Size(", grad.sizes(),
		            ") and output[", i, "] has a shape of torch.Size(", out.sizes(), ").");
	}
	TORCH_CHECK(out.is_complex() == grad.is_complex(),
	            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output[", i,
	            "] has a dtype of torch.", c10::getDtypeNames(grad.scalar_type()).first, " and output[", i, "] has a dtype of torch.",
	            c10::getDtypeNames(out.scalar_type()).first, ".");
}

void check_gradients(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& gradients) {
	TORCH_CHECK(gradients.empty() || gradients.size() == outputs.size(), "got ", outputs.size(), " tensors and ", gradients.size(),
	            " gradients");
	for (size_t i = 0; i < outputs.size(); i++) {
		TORCH_CHECK(outputs[i].defined(), "element ", i, " of tensors is an undefined tensor");
		check_gradient(outputs[i], gradients.empty() ? undefined : gradients[i], i);
	}
}

}  // namespace

// backward(roots, root gradients, retain_graph?, create_graph, inputs)
void backward(Args& a, Results&) {
	auto roots = a.variables();
	auto gradients = a.variables();
	check_gradients(roots, gradients);
	auto retain = a.opt_boolean();
	bool create = a.boolean();
	torch::autograd::backward(roots, gradients, retain, create, a.variables());
}

// grad(outputs, inputs, output gradients, retain_graph?, create_graph, allow_unused) -> gradients
void grad(Args& a, Results& r) {
	auto outputs = a.variables();
	auto inputs = a.variables();
	auto gradients = a.variables();
	check_gradients(outputs, gradients);
	auto retain = a.opt_boolean();
	bool create = a.boolean();
	r.tensors(torch::autograd::grad(outputs, inputs, gradients, retain, create, a.boolean()));
}

// A gradient of zeros without memory gets some, for good: what is written to it has to stay.
const at::Tensor& gradient_of(const at::Tensor& t) {
	if (t.grad().defined() && t.grad()._is_zerotensor()) {
		t.mutable_grad() = materialised(at::Tensor(t.grad()));
	}
	return t.grad();
}

// gradients(tensors) -> their .grad, undefined where there is none
void gradients(Args& a, Results& r) {
	static std::mutex mu;  // of the gradients that get memory here: reading them is no write to a caller
	std::lock_guard lock(mu);
	std::vector<at::Tensor> list;
	for (uint64_t n = a.next(); n > 0; n--) {
		list.push_back(gradient_of(a.tensor()));
	}
	r.tensors(std::move(list));
}

// keep_tensors(tensors) -> a list that stands for them in later calls
void keep_tensors(Args& a, Results& r) {
	r.object<Tensors>(a.tensors().vec());
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

// A view may keep what it was made of, and that would keep its gradient.
bool keeps(const at::Tensor& view, const at::Tensor& t) {
	return view.is_view() && view.has_storage() && t.has_storage() && view.is_alias_of(t);
}

// set_gradient(t, g): t.grad = g, with Python's checks and words
void set_gradient(Args& a, Results&) {
	const auto& t = a.tensor();
	const auto& g = a.tensor();
	TORCH_CHECK_VALUE(t.defined(), "the tensor is undefined");
	bool kept = g.defined() && keeps(g, t);
	if (g.defined()) {
		TORCH_CHECK(!t.is_same(g), "can't assign Variable as its own grad");
		TORCH_CHECK(!kept || !g.requires_grad(), "can't assign a view of a tensor as its gradient, because each would keep the other; Clone it");
		auto dtype = t.grad_dtype();
		TORCH_CHECK(!dtype || *dtype == g.scalar_type(), "attempting to assign a gradient with dtype '", g.dtype(),
		            "' to a tensor with grad_dtype '", *dtype, "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)");
		TORCH_CHECK(t.device() == g.device(), "attempting to assign a gradient with device type '", g.device(), "' to a tensor with device type '",
		            t.device(), "'. Please ensure that the gradient and the tensor are on the same device");
		TORCH_CHECK(g.layout() == at::kSparse || g.options().type_equal(t.options().dtype(g.dtype())),
		            "attempting to assign a gradient to a tensor that has data of a different type: layout ", g.layout(), " to ", t.layout());
		TORCH_CHECK(g.sizes() == t.sizes(), "attempting to assign a gradient of size '", g.sizes(), "' to a tensor of size '", t.sizes(),
		            "'. Please ensure that the gradient and the tensor are the same size");
	}
	t.mutable_grad() = kept ? g.variable_data() : g;
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

// grad_name(t) -> the name of the node that made t, "" for a leaf
void grad_name(Args& a, Results& r) {
	auto node = a.tensor().grad_fn();
	r.string(node ? node->name() : "");
}

// grad_fn(t) -> the node that made t and its address, 0 and 0 for a leaf
void grad_fn(Args& a, Results& r) {
	for (uint64_t w : owned_node(a.tensor().grad_fn())) {
		r.put(w);
	}
}

// node_name(node) -> its name
void node_name(Args& a, Results& r) {
	r.string(a.object<SharedNode>("node")->name());
}

// next_nodes(node) -> for each of its inputs the node that made it, that one's address, and which of
// its outputs it is; 0 and 0 for an input that needs no gradient
void next_nodes(Args& a, Results& r) {
	std::vector<uint64_t> list;
	for (const auto& edge : a.object<SharedNode>("node")->next_edges()) {
		for (uint64_t w : owned_node(edge.function)) {
			list.push_back(w);
		}
		list.push_back(edge.input_nr);
	}
	r.words(list);
}

// replace_data(t, source): t takes over source's storage, shape and dtype; whoever holds t
// (an optimizer, another module) sees the change. Autograd does not.
void replace_data(Args& a, Results&) {
	const auto& t = a.tensor();
	t.set_data(a.tensor());
}

}  // namespace tg::entry
